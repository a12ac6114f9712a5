import { Grant } from '../../libs/distribute-lock/src/engine/lease/grant.js';
import { Acquiring } from '../../libs/distribute-lock/src/engine/acquiring.js';
import { Attempts } from '../../libs/distribute-lock/src/engine/attempts.js';
import type { SharedHeartbeat } from '../../libs/distribute-lock/src/engine/heartbeat.js';
import type { EngineContext } from '../../libs/distribute-lock/src/engine/context.js';
import type { Attempt, KeyState } from '../../libs/distribute-lock/src/engine/key-state.js';
import type { KeyStates } from '../../libs/distribute-lock/src/engine/key-states.js';
import { Messages } from '../../libs/distribute-lock/src/engine/messages.js';
import { Releasing } from '../../libs/distribute-lock/src/engine/releasing.js';
import type { Clock } from '../../libs/distribute-lock/src/runtime/clock.js';
import { OwnerTokens } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import { AbandonedTokens } from '../../libs/distribute-lock/src/store/abandoned-tokens.js';
import type { LockMessage, ReleaseAnswer } from '../../libs/distribute-lock/src/store/lock-store.js';
import { FenceCounter, type BlockRequest } from '../../libs/distribute-lock/src/store/redis/fence-counter.js';
import { ServerClock } from '../../libs/distribute-lock/src/store/redis/server-clock.js';
import { patch, type Restore } from './patch.js';

/**
 * Each removes one measure from the lock engine. Mutants replace private members; `patch` throws when a name has changed.
 */
export const ENGINE_MUTANTS: Readonly<Record<string, () => Restore>> = {
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
    const clocks = new WeakMap<Grant, Clock>();
    const made = patch(
      Acquiring,
      'newGrant',
      (original) =>
        function (this: Inside, ...facts: never[]) {
          const grant = original.call(this, ...facts) as Grant;
          clocks.set(grant, this.context.clock);
          return grant;
        },
    );
    const won = patch(
      Acquiring,
      'won',
      (original) =>
        function (this: Inside, attempt: Attempt, grant: Grant) {
          grant.confirm(this.context.clock.now(), grant.ttlMs);
          original.call(this, attempt, grant);
        },
    );
    const confirm = patch(
      Grant,
      'confirm',
      (original) =>
        function (this: Grant, sentAt: number, ttlMs: number) {
          original.call(this, clocks.get(this)?.now() ?? sentAt, ttlMs);
        },
    );
    return () => [made, won, confirm].forEach((restore) => restore());
  },

  'a late grant given to a caller': () =>
    patch(
      Acquiring,
      'won',
      (original) =>
        function (this: Inside, attempt: Attempt, grant: Grant) {
          if (attempt.over) return original.call(this, attempt, grant);
          this.attempts.endGranted(attempt);
          this.prepare(attempt, grant);
          return this.wakeUps.wake({ reason: 'granted', list: attempt.list, grant, now: this.context.clock.now() });
        },
    ),

  'a hold that begins on the message of an offer, without a claim': () =>
    patch(
      Acquiring,
      'offered',
      () =>
        function (this: Inside, attempt: Attempt) {
          const now = this.context.clock.now();
          const { list, ownerToken } = attempt;
          const grant = this.newGrant(list.state, ownerToken, list.first!.plan.ttlMs, now, Math.ceil(now), 1, 0);
          this.attempts.endGranted(attempt);
          this.wakeUps.wake({ reason: 'granted', list, grant, now });
        },
    ),

  'no heartbeat': () =>
    patch(
      Attempts,
      'sleep',
      (original) =>
        function (this: AttemptsInside, attempt: Attempt, ...more: never[]) {
          original.call(this, attempt, ...more);
          this.context.timers.remove(attempt);
          const heartbeat = this.heartbeats.get(attempt.list.state);
          if (heartbeat !== undefined) this.context.timers.remove(heartbeat);
        },
    ),

  'a local hand-over without a check of the clock': () =>
    passing((grant) => ({ validUntil: [grant.validUntil, Infinity] })),

  'no limit to local hand-overs': () => passing((grant) => ({ contended: [grant.contended, false] })),

  'an acquire without a deadline': () => patch(ServerClock, 'deadline', () => () => Infinity),

  'abandoned tokens ignored': () => patch(AbandonedTokens, 'abandon', () => () => undefined),

  'an attempt abandoned without its undo': () =>
    patch(
      Attempts,
      'abandon',
      () =>
        function (this: AttemptsInside, attempt: Attempt) {
          this.context.timers.remove(attempt);
          this.end(attempt);
        },
    ),

  'a release that was sent twice reported as a loss': () =>
    patch(
      Releasing,
      'released',
      (original) =>
        function (this: Releasing, release: unknown, answer: ReleaseAnswer) {
          original.call(this, release, answer.outcome === 'lost' ? { ...answer, resent: false } : answer);
        },
    ),

  'a discarded offer that overtook the reply': () =>
    patch(
      Messages,
      'message',
      (original) =>
        function (this: MessagesInside, message: LockMessage) {
          const attempt = this.states.ofToken(message.key, message.ownerToken)?.attemptOf(message.ownerToken);
          if (message.type !== 'granted' || attempt?.sendable !== false) original.call(this, message);
        },
    ),

  'incremented fencing tokens after the counter was lost': () =>
    patch(
      FenceCounter,
      'rises',
      (original) =>
        function (this: FenceCounter, request: BlockRequest, ...more: [number, number, number]) {
          if (!request.counted) original.call(this, request, ...more);
          return true;
        },
    ),
};

interface Inside {
  readonly context: EngineContext;
  readonly attempts: Attempts;
  readonly wakeUps: Acquiring['wakeUps'];
  readonly newGrant: Acquiring['newGrant'];
  prepare(attempt: Attempt, grant: Grant): void;
}

interface AttemptsInside {
  readonly context: EngineContext;
  readonly heartbeats: WeakMap<KeyState, SharedHeartbeat>;
  end(attempt: Attempt): void;
}

interface MessagesInside {
  readonly states: KeyStates;
}

/** Makes the decision about a local hand-over on false facts. */
function passing(lie: (grant: Grant) => Partial<Record<keyof Grant, [unknown, unknown]>>): Restore {
  return patch(
    Releasing,
    'handOver',
    (original) =>
      function (this: Releasing, state: KeyState, lease: { grant: Grant }, ...more: never[]) {
        const fields = lie(lease.grant);
        for (const [name, [, untrue]] of Object.entries(fields)) Object.assign(lease.grant, { [name]: untrue });
        const answer = original.call(this, state, lease, ...more);
        for (const [name, [truth]] of Object.entries(fields)) Object.assign(lease.grant, { [name]: truth });
        return answer;
      },
  );
}
