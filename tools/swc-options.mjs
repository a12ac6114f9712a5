/** How TypeScript is turned into JavaScript without a build: by Jest, and by the loader of second processes. */
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

/** Makes the library's own `exports` lead to its sources instead of to `dist`. */
export const SOURCE_CONDITION = '@nestjs-distribute-lock/source';
