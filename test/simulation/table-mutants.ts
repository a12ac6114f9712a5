import type { AcquireAllAnswer } from '../../libs/distribute-lock/src/store/acquire-all-answer.js';
import type {
  AcquireRequest,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../../libs/distribute-lock/src/store/lock-store.js';
import { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import type { TableWorld } from '../../libs/distribute-lock/src/store/memory/table-state.js';
import type { MakeTable } from './tables.js';

/** What the broken tables need of the inside of the real one. */
interface Inside {
  unusedFence: number;
  readonly world: TableWorld;
  granted(key: string, block: number): unknown;
  set(key: string, owner: string, ttlMs: number): void;
  raise(key: string, ttlMs: number): void;
  waiting(key: string): number;
  removeSilent(key: string, ownerToken: string): boolean;
}

class ReleaseWithoutCompare extends LockTable {
  override release(request: ReleaseRequest): ReleaseAnswer {
    return super.release({ ...request, ownerToken: this.owner(request.key) ?? request.ownerToken });
  }
}

class RenewalThatCreates extends LockTable {
  override renew(request: RenewRequest): Exclude<RenewAnswer, Error> {
    const { key, ownerToken, ttlMs } = request;
    if (this.owner(key) === undefined) this.overwrite(key, ownerToken, ttlMs);
    return super.renew(request);
  }
}

class TokenNotRecognised extends LockTable {
  override acquire(request: AcquireRequest) {
    const { key, ownerToken, wait } = request;
    if (this.owner(key) !== ownerToken) return super.acquire(request);
    const outcome = wait ? 'queued' : 'busy';
    return { outcome, remainingMs: this.leftMs(key), foreign: false } as const;
  }
}

/** Takes what is free of several keys. */
class SeveralInPart extends LockTable {
  override acquireAll(requests: readonly AcquireRequest[]): AcquireAllAnswer {
    const free = requests.filter(({ key, ownerToken }) => [undefined, ownerToken].includes(this.owner(key)));
    if (free.length > 0) super.acquireAll(free);
    return super.acquireAll(requests);
  }
}

/** Takes several keys past those who wait for one of them. */
class SeveralPassing extends LockTable {
  override acquireAll(requests: readonly AcquireRequest[]): AcquireAllAnswer {
    for (const { key, ownerToken, ttlMs } of requests)
      if (this.owner(key) === undefined) this.overwrite(key, ownerToken, ttlMs);
    const answer = super.acquireAll(requests);
    if (answer.outcome === 'busy')
      for (const { key, ownerToken } of requests) if (this.owner(key) === ownerToken) this.overwrite(key, undefined);
    return answer;
  }
}

/** Replaces a step of the table; a name that has changed makes it throw. */
function withStep<K extends keyof Inside>(
  name: K,
  step: (inside: Inside, original: Inside[K]) => Inside[K],
): MakeTable {
  return (world) => {
    const table = new LockTable(world);
    const inside = table as unknown as Inside;
    const original = inside[name];
    if (typeof original !== 'function') throw new Error(`There is no step ${name} any more`);
    inside[name] = step(inside, original.bind(table) as Inside[K]);
    return table;
  };
}

const numbered = (first: (inside: Inside) => number, persisted: boolean): MakeTable =>
  withStep('granted', (inside) => (key, block) => {
    const fencingToken = first(inside);
    if (persisted) inside.unusedFence = fencingToken + block;
    return { outcome: 'granted', fencingToken, waiting: inside.waiting(key) };
  });

const micros = ({ world }: Inside): number => Math.floor(world.now() * 1_000);

/** Each takes one measure out of what runs in the server. */
export const TABLE_MUTANTS: Readonly<Record<string, MakeTable>> = {
  'release without compare': (world) => new ReleaseWithoutCompare(world),
  'a renewal that creates the lock': (world) => new RenewalThatCreates(world),
  'the own token not recognised': (world) => new TokenNotRecognised(world),
  'several keys taken in part': (world) => new SeveralInPart(world),
  'several keys taken past those who wait for one of them': (world) => new SeveralPassing(world),
  'a fencing token that is only the last one and 1': numbered(({ unusedFence }) => unusedFence, true),
  'the next fencing token not kept': numbered(micros, false),
  'a process that does not respond keeping its places': withStep('removeSilent', () => () => false),
  'a question that shortens the lease': withStep('raise', (inside) => (key, ttlMs) => {
    const owner = (inside as unknown as LockTable).owner(key);
    if (owner !== undefined) inside.set(key, owner, ttlMs);
  }),
};
