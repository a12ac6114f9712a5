import { type AnyIterator, eachIterator, replace } from './async-iterables.js';
import type { Hold } from './hold.js';
import { Readers } from './readers.js';

/**
 * Keeps the lock until a generator, or whatever else is read piece by piece, has finished, failed or been left. Its steps run
 * as the holder, whoever asks for them.
 */
export function holdIterable(iterable: AsyncIterable<unknown>, hold: Hold): AsyncIterable<unknown> {
  const readers = new Readers(hold);
  eachIterator(
    iterable,
    (iterator) => holdSteps(iterator, readers, hold),
    (make) => {
      readers.checkInTime();
      return hold.run(make);
    },
  );
  return iterable;
}

function holdSteps(iterator: AnyIterator, readers: Readers, hold: Hold): void {
  // Without it nobody would hear of a reader who leaves.
  if (iterator.return === undefined) replace(iterator, 'return', async (value: unknown) => ({ done: true, value }));
  let leave: ReturnType<Readers['enter']> | undefined;
  for (const name of ['next', 'return', 'throw'] as const) {
    const original = iterator[name];
    if (typeof original !== 'function') continue;
    const held = async (...given: unknown[]): Promise<IteratorResult<unknown, unknown>> => {
      // The other two end a generator that has not begun, and none of its work runs.
      if (leave === undefined && name === 'next') readers.checkInTime();
      leave ??= readers.enter();
      try {
        const result = await hold.run(
          () => Reflect.apply(original, iterator, given) as ReturnType<AnyIterator['next']>,
        );
        if (result.done === true) await leave(() => hold.complete());
        return result;
      } catch (error) {
        await leave(() => hold.release());
        throw error;
      }
    };
    replace(iterator, name, held);
  }
}
