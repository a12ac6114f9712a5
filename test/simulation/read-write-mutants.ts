import type { Grant } from '../../libs/distribute-lock/src/engine/lease/grant.js';
import { ReadState } from '../../libs/distribute-lock/src/engine/read.js';
import { patch, type Restore } from './patch.js';

/** Each removes one measure for readers and writers from the lock engine. */
export const READ_WRITE_ENGINE_MUTANTS: Readonly<Record<string, () => Restore>> = {
  'a closed gate ignored by readers of the same process': () =>
    patch(
      ReadState,
      'mayEnter',
      (original) =>
        function (this: ReadState, grant: Grant, ...more: never[]) {
          const { contended } = grant;
          grant.contended = false;
          const answer = original.call(this, grant, ...more);
          grant.contended = contended;
          return answer;
        },
    ),
  'a reply that is older than the notice opens the gate': () =>
    patch(
      ReadState,
      'contendedBy',
      () =>
        function (grant: Grant) {
          grant.contended = true;
        },
    ),
};
