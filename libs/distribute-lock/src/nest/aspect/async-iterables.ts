/** What a reader asks for the next piece; generators are made so. */
export type AnyIterator = AsyncIterator<unknown, unknown, unknown>;

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  try {
    // What is frozen cannot be watched.
    return typeof (value as AsyncIterable<unknown>)[Symbol.asyncIterator] === 'function' && Object.isExtensible(value);
  } catch {
    return false; // a getter of the user's object threw
  }
}

/**
 * Calls `prepare` with each iterator before it is read. The iterable stays the object that it was.
 * @param open - makes the iterator of a reader
 */
export function eachIterator(
  iterable: AsyncIterable<unknown>,
  prepare: (iterator: AnyIterator) => void,
  open: (make: () => AnyIterator) => AnyIterator = (make) => make(),
): void {
  if (isGenerator(iterable)) {
    prepare(iterable);
    return;
  }
  const original = iterable[Symbol.asyncIterator];
  replace(iterable, Symbol.asyncIterator, () => {
    const iterator = open(() => Reflect.apply(original, iterable, []));
    prepare(iterator);
    return iterator;
  });
}

/** A method of a single object, which its class goes on without. */
export function replace(target: object, name: PropertyKey, value: Function): void {
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
}

/** It is its own iterator. Cursors of databases have a `next()`, too, but it answers with a row, and nobody can leave them. */
function isGenerator(
  value: AsyncIterable<unknown> & Partial<AnyIterator>,
): value is AsyncIterable<unknown> & AnyIterator {
  return typeof value.next === 'function' && typeof value.return === 'function';
}
