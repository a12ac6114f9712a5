import { Run } from '../../libs/distribute-lock/src/engine/semaphore-run.js';
import { SemaphoreState } from '../../libs/distribute-lock/src/engine/semaphore.js';
import type { Waiter } from '../../libs/distribute-lock/src/engine/key-state.js';
import { patch, patchGetter, type Restore } from './patch.js';

/** A run behind which another process waits requests no further places, which would be behind those of that process. */
const withoutPlaces = (): Restore =>
  patchGetter(
    Run,
    'lacking',
    (original) =>
      function (this: Run) {
        return this.closed ? 0 : original.call(this);
      },
  );

/** Each removes one measure for semaphores from the lock engine. */
export const SEMAPHORE_ENGINE_MUTANTS: Readonly<Record<string, () => Restore>> = {
  'a local hand-over to another weight': () =>
    patch(
      SemaphoreState,
      'nextHolder',
      () =>
        function (this: { runs: readonly { first?: Waiter }[] }) {
          return this.runs[0]?.first;
        },
    ),
  'a local hand-over to callers behind those of another process': () => {
    const restorePlaces = withoutPlaces();
    const restore = patch(
      Run,
      'takes',
      () =>
        function (this: Run, { call: { options } }: Waiter) {
          return this.last?.call.options.weight === options.weight;
        },
    );
    return () => {
      restore();
      restorePlaces();
    };
  },
  'a run that takes callers of another weight': () => patch(Run, 'takes', () => () => true),
};
