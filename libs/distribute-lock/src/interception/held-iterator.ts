import type { Hold } from './hold.js';

/** An async generator, or what a compiler made of one. */
export type HeldIterator = AsyncIterator<unknown, unknown, unknown> & AsyncIterable<unknown>;

export function isAsyncIterator(value: object): value is HeldIterator {
  const { next, [Symbol.asyncIterator]: iterate } = value as Partial<HeldIterator>;
  return typeof next === 'function' && typeof iterate === 'function';
}

/**
 * Keeps the lock until the generator has finished, failed or been left. The generator stays the object that it was;
 * its steps run as the holder, whoever asks for them.
 */
export function holdIterator(iterator: HeldIterator, hold: Hold): HeldIterator {
  const read = hold.releaseUnlessRead();
  const step = (name: 'next' | 'return' | 'throw') => {
    const original = iterator[name];
    if (typeof original !== 'function') return;
    const held = async (...given: unknown[]): Promise<IteratorResult<unknown, unknown>> => {
      read();
      return handOut(hold, () => Reflect.apply(original, iterator, given) as Promise<IteratorResult<unknown>>);
    };
    Object.defineProperty(iterator, name, { value: held, configurable: true, writable: true });
  };
  step('next');
  step('return');
  step('throw');
  return iterator;
}

async function handOut(
  hold: Hold,
  step: () => Promise<IteratorResult<unknown, unknown>>,
): Promise<IteratorResult<unknown, unknown>> {
  let result: IteratorResult<unknown, unknown>;
  try {
    result = await hold.run(step);
  } catch (error) {
    await hold.release();
    throw error;
  }
  if (result.done === true && !hold.ended) await hold.complete();
  return result;
}
