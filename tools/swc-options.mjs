/** How Jest and the loader of second processes compile TypeScript without a build. */
export const swcOptions = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2023',
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

/** Resolves the `exports` of the library to its sources instead of `dist`. */
export const SOURCE_CONDITION = '@nestjs-distribute-lock/source';
