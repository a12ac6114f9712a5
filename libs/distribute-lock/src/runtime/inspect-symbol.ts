/** The name of the method whose result `console.log()` prints, on Node; other runtimes ignore it. */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom');
