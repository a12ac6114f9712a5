import { Grant } from '../../libs/distribute-lock/src/engine/lease/grant.js';
import { Asking } from '../../libs/distribute-lock/src/engine/asking.js';
import type { Attempt } from '../../libs/distribute-lock/src/engine/attempt.js';
import type { CoreParts } from '../../libs/distribute-lock/src/engine/core-parts.js';
import { GivingBack } from '../../libs/distribute-lock/src/engine/giving-back.js';
import type { Granted } from '../../libs/distribute-lock/src/engine/granted.js';
import { KeyQueues } from '../../libs/distribute-lock/src/engine/key-queues.js';
import type { KeyQueue } from '../../libs/distribute-lock/src/engine/key-queue.js';
import type { Registry } from '../../libs/distribute-lock/src/engine/registry.js';
import type { Clock } from '../../libs/distribute-lock/src/runtime/clock.js';
import { OwnerTokens } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import { AbandonedTokens } from '../../libs/distribute-lock/src/store/abandoned-tokens.js';
import type { LockMessage, ReleaseAnswer } from '../../libs/distribute-lock/src/store/lock-store.js';
import { FenceCounter, type NumbersRequest } from '../../libs/distribute-lock/src/store/redis/fence-counter.js';
import { ServerClock } from '../../libs/distribute-lock/src/store/redis/server-clock.js';
import { patch, type Restore } from './patch.js';

/**
 * Each removes one measure from the lock core. Mutants replace private members; `patch` throws when a name has changed.
 */
export const CORE_MUTANTS: Readonly<Record<string, () => Restore>> = {
  'a lease that keeps its old length while it is shortened': () =>
    patch(
      Grant,
      'shorten',
      () =>
        function (this: Grant, _sentAt: number, ttlMs: number) {
          this.ttlMs = ttlMs;
        },
    ),
  'one token per process for all attempts': () =>
    patch(
      OwnerTokens,
      'next',
      () =>
        function next(this: OwnerTokens) {
          return `${this.processId}:1`;
        },
    ),

  'validity counted from the reply': () => {
    const won = patch(
      Asking,
      'won',
      (original) =>
        function (this: Inside, attempt: Attempt, granted: Granted) {
          original.call(this, attempt, { ...granted, sentAt: this.parts.clock.now() });
        },
    );
    const confirm = patch(
      Grant,
      'confirm',
      (original) =>
        function (this: { keeper: { clock: Clock } }, _: number, ttlMs: number) {
          original.call(this, this.keeper.clock.now(), ttlMs);
        },
    );
    return () => [won, confirm].forEach((restore) => restore());
  },

  'a late grant given to a caller': () =>
    patch(
      Asking,
      'won',
      (original) =>
        function (this: Inside, attempt: Attempt, granted: Granted) {
          if (attempt.over) return original.call(this, attempt, granted);
          this.parts.timers.remove(attempt);
          attempt.line.queue.end(attempt);
          return this.listener.granted(attempt.line, granted, attempt.contended);
        },
    ),

  'an offer that is valid for a claim window from its message': () =>
    patch(
      Asking,
      'offered',
      (original) =>
        function (this: Inside, attempt: Attempt, fencingToken: number | undefined) {
          Object.assign(attempt, { since: this.parts.clock.now() });
          original.call(this, attempt, fencingToken);
        },
    ),

  'an unconfirmed lease that is valid for its ttl after an offer': () =>
    patch(Grant, 'beginUnconfirmed', () => () => undefined),

  'no heartbeat': () =>
    patch(
      Asking,
      'queued',
      (original) =>
        function (this: Inside, attempt: Attempt, ...more: never[]) {
          original.call(this, attempt, ...more);
          this.parts.timers.remove(attempt);
          const { heartbeat } = attempt.line.queue;
          if (heartbeat !== undefined) this.parts.timers.remove(heartbeat);
        },
    ),

  'a local hand-over without a check of the clock': () =>
    passing((grant) => ({ validUntil: [grant.validUntil, Infinity] })),

  'no limit to local hand-overs': () => passing((grant) => ({ contended: [grant.contended, false] })),

  'an acquire without a deadline': () => patch(ServerClock, 'deadline', () => () => Infinity),

  'abandoned tokens ignored': () => patch(AbandonedTokens, 'abandon', () => () => undefined),

  'an attempt abandoned without its undo': () =>
    patch(
      Asking,
      'abandon',
      () =>
        function (this: Inside, attempt: Attempt) {
          this.parts.timers.remove(attempt);
          attempt.line.queue.end(attempt);
        },
    ),

  'a release that was sent twice reported as a loss': () =>
    patch(
      GivingBack,
      'released',
      (original) =>
        function (this: GivingBack, release: unknown, answer: ReleaseAnswer) {
          original.call(this, release, answer.outcome === 'lost' ? { ...answer, resent: false } : answer);
        },
    ),

  'a discarded offer that overtook the reply': () =>
    patch(
      KeyQueues,
      'message',
      (original) =>
        function (this: QueuesInside, message: LockMessage) {
          const attempt = this.queues.ofToken(message.key, message.ownerToken)?.attemptOf(message.ownerToken);
          if (message.type !== 'granted' || attempt?.inFlight !== true) original.call(this, message);
        },
    ),

  'incremented fencing tokens after the counter was lost': () =>
    patch(
      FenceCounter,
      'rises',
      (original) =>
        function (this: FenceCounter, asked: NumbersRequest, ...more: [number, number, number]) {
          if (!asked.counted) original.call(this, asked, ...more);
          return true;
        },
    ),
};

interface Inside {
  readonly parts: CoreParts;
  readonly listener: { granted(line: unknown, granted: Granted, contended: boolean): void };
}

interface QueuesInside {
  readonly queues: Registry;
}

/** Makes the decision about a local hand-over on false facts. */
function passing(lie: (grant: Grant) => Partial<Record<keyof Grant, [unknown, unknown]>>): Restore {
  return patch(
    GivingBack,
    'giveOn',
    (original) =>
      function (this: GivingBack, queue: KeyQueue, lease: { grant: Grant }) {
        const fields = lie(lease.grant);
        for (const [name, [, untrue]] of Object.entries(fields)) Object.assign(lease.grant, { [name]: untrue });
        const answer = original.call(this, queue, lease);
        for (const [name, [truth]] of Object.entries(fields)) Object.assign(lease.grant, { [name]: truth });
        return answer;
      },
  );
}
