import { Run } from '../../libs/distribute-lock/src/engine/semaphore-run.js';
import { SemaphoreState } from '../../libs/distribute-lock/src/engine/semaphore.js';
import { permitsOfToken, weightOf } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import type { Waiter } from '../../libs/distribute-lock/src/engine/key-state.js';
import type { AcquireRequest, ReleaseRequest } from '../../libs/distribute-lock/src/store/lock-store.js';
import type { SemaphoreLeases, SemaphorePlaces } from '../../libs/distribute-lock/src/store/memory/semaphore-state.js';
import { SemaphoreTable } from '../../libs/distribute-lock/src/store/memory/semaphore-table.js';
import { CLAIM_WINDOW_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { patch, patchGetter, type Restore } from './patch.js';
import type { MakeSemaphores } from './tables.js';

/** Private parts of the table that the mutants replace. */
interface Inside {
  readonly leases: SemaphoreLeases;
  readonly places: SemaphorePlaces;
  now(): number;
  serve(key: string, self?: unknown): boolean;
  stops(head: string, self?: unknown): boolean;
  offer(key: string, head: string, reached: Map<string | undefined, boolean>): void;
}

type Leases = Pick<SemaphoreLeases, 'live' | 'used' | 'give' | 'takeBack' | 'raise'>;

/** Replaces a step of the table; throws when the name has changed. */
function withStep<T, K extends keyof T>(
  part: (inside: Inside) => T,
  name: K,
  step: (original: T[K], owner: T, inside: Inside) => T[K],
): MakeSemaphores {
  return (world, locks) => {
    const table = new SemaphoreTable(world, locks);
    const inside = table as unknown as Inside;
    const owner = part(inside);
    const original = owner[name];
    if (typeof original !== 'function') throw new Error(`The table has no step ${String(name)}`);
    owner[name] = step(original.bind(owner) as T[K], owner, inside);
    return table;
  };
}

const leases = (inside: Inside): Leases => inside.leases;
const steps = (inside: Inside): Inside => inside;

const fits = ({ leases: inner }: Inside, key: string, ownerToken: string): boolean =>
  weightOf(ownerToken) <= permitsOfToken(ownerToken) - inner.used(key);

/** Every release returns permits, also a repeated one. */
class PermitCountedTwice extends SemaphoreTable {
  private readonly free = new Map<string, number>();

  override release(request: ReleaseRequest) {
    const answer = super.release(request);
    const { key, ownerToken } = request;
    if (answer.outcome === 'lost') this.free.set(key, (this.free.get(key) ?? 0) + weightOf(ownerToken));
    const inside = this as unknown as Inside & { leases: Leases };
    const { used } = Object.getPrototypeOf(inside.leases) as Leases;
    inside.leases.used = (name) => used.call(inside.leases, name) - (this.free.get(name) ?? 0);
    return answer;
  }
}

class TokenNotRecognised extends SemaphoreTable {
  override acquire(request: AcquireRequest) {
    if (!this.live(request.key).has(request.ownerToken)) return super.acquire(request);
    const outcome = request.wait ? 'queued' : 'busy';
    return { outcome, remainingMs: 1, foreign: false } as const;
  }
}

class LeaveWithoutNext extends SemaphoreTable {
  override release(request: ReleaseRequest) {
    const { key, ownerToken } = request;
    if (this.live(key).has(ownerToken)) return super.release(request);
    (this as unknown as Inside).places.leave(key, ownerToken);
    return { outcome: 'lost', resent: false } as const;
  }
}

/** Counts permits at their grant and release, and ignores leases that end by their ttl. */
const counter = (): MakeSemaphores => (world, locks) => {
  const table = new SemaphoreTable(world, locks);
  const { leases: inner } = table as unknown as { leases: Leases };
  const counts = new Map<string, number>();
  const count = (key: string, permits: number): void => void counts.set(key, (counts.get(key) ?? 0) + permits);
  const { give, takeBack } = inner;
  inner.used = (key) => counts.get(key) ?? 0;
  inner.give = (key, ownerToken, ...more) => {
    if (!inner.live(key).has(ownerToken)) count(key, weightOf(ownerToken));
    give.call(inner, key, ownerToken, ...more);
  };
  inner.takeBack = (key, ownerToken) => {
    if (inner.live(key).has(ownerToken)) count(key, -weightOf(ownerToken));
    takeBack.call(inner, key, ownerToken);
  };
  return table;
};

/** Each removes one measure from the server. */
export const SEMAPHORE_MUTANTS: Readonly<Record<string, MakeSemaphores>> = {
  'a permit counted twice': (world, locks) => new PermitCountedTwice(world, locks),
  'a counter beside the leases': counter(),
  'the own token of a semaphore not recognised': (world, locks) => new TokenNotRecognised(world, locks),
  'a waiter that leaves without serving the next': (world, locks) => new LeaveWithoutNext(world, locks),
  'offers that take no permits': withStep(leases, 'used', (original, owner, inside) => (key) => {
    const offered = [...owner.live(key)].filter(([, endsAt]) => endsAt - inside.now() <= CLAIM_WINDOW_MS);
    return original(key) - offered.reduce((sum, [ownerToken]) => sum + weightOf(ownerToken), 0);
  }),
  'one ttl for all holders': withStep(leases, 'raise', (original, owner) => (key, _, endsAt) => {
    for (const ownerToken of owner.live(key).keys()) original(key, ownerToken, endsAt);
  }),
  'the time of the client instead of the server': (world, locks) =>
    new SemaphoreTable({ ...world, now: () => world.clientNow() }, locks),
  'a heavy head that is overtaken': withStep(steps, 'serve', (original, inside) => (key, self) => {
    for (const waiting of [...inside.places.of(key)]) {
      if (fits(inside, key, waiting)) inside.offer(key, waiting, new Map());
    }
    return original(key, self);
  }),
  'a newcomer that overtakes the queue': withStep(steps, 'serve', (original, inside) => (key, self) => {
    const caller = self as { ownerToken: string; ttlMs: number } | undefined;
    if (caller === undefined || !fits(inside, key, caller.ownerToken)) return original(key, self);
    inside.leases.give(key, caller.ownerToken, inside.now() + caller.ttlMs);
    inside.places.leave(key, caller.ownerToken);
    return true;
  }),
  'a dead head that keeps its place': withStep(steps, 'stops', () => () => true),
  'holders that know another number of permits not counted': withStep(
    leases,
    'used',
    (_, owner, { leases: all }) =>
      (key) => {
        const counted = [...owner.live(key).keys()].filter(
          (ownerToken) => permitsOfToken(ownerToken) === all.limit(key),
        );
        return counted.reduce((sum, ownerToken) => sum + weightOf(ownerToken), 0);
      },
  ),
};

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

/** Each removes one measure from the lock engine. */
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
