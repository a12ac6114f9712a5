/** How Jest and the loader of second processes compile TypeScript without a build. */
export const swcOptions = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    // As in tsconfig.json, so that tests run the same classes as the package.
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    target: 'es2023',
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

/** Resolves the `exports` of the library to its sources instead of `dist`. */
export const SOURCE_CONDITION = '@nestjs-distribute-lock/source';
