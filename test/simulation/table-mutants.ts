import type {
  AcquireAllAnswer,
  AcquireRequest,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../../libs/distribute-lock/src/store/lock-store.js';
import { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import type { TableHost } from '../../libs/distribute-lock/src/store/memory/table-state.js';
import type { MakeTable } from './tables.js';

/** Private parts of the table that the mutants replace. */
interface Inside {
  unusedFence: number;
  readonly host: TableHost;
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

/** Acquires only the free ones of several keys. */
class MultiKeyInPart extends LockTable {
  override acquireAll(requests: readonly AcquireRequest[]): AcquireAllAnswer {
    const free = requests.filter(({ key, ownerToken }) => [undefined, ownerToken].includes(this.owner(key)));
    if (free.length > 0) super.acquireAll(free);
    return super.acquireAll(requests);
  }
}

/** Acquires several keys although one of them has waiters. */
class MultiKeyPassing extends LockTable {
  override acquireAll(requests: readonly AcquireRequest[]): AcquireAllAnswer {
    for (const { key, ownerToken, ttlMs } of requests)
      if (this.owner(key) === undefined) this.overwrite(key, ownerToken, ttlMs);
    const answer = super.acquireAll(requests);
    if (answer.outcome === 'busy')
      for (const { key, ownerToken } of requests) if (this.owner(key) === ownerToken) this.overwrite(key, undefined);
    return answer;
  }
}

/** Replaces a step of the table; throws when the name has changed. */
function withStep<K extends keyof Inside>(
  name: K,
  step: (inside: Inside, original: Inside[K]) => Inside[K],
): MakeTable {
  return (host) => {
    const table = new LockTable(host);
    const inside = table as unknown as Inside;
    const original = inside[name];
    if (typeof original !== 'function') throw new Error(`The table has no step ${name}`);
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

const micros = ({ host }: Inside): number => Math.floor(host.now() * 1_000);

/** Each removes one measure from the server. */
export const TABLE_MUTANTS: Readonly<Record<string, MakeTable>> = {
  'a release without a comparison': (host) => new ReleaseWithoutCompare(host),
  'a renewal that creates the lock': (host) => new RenewalThatCreates(host),
  'an own token that is not recognised': (host) => new TokenNotRecognised(host),
  'several keys of which only some are acquired': (host) => new MultiKeyInPart(host),
  'several keys that are acquired past a waiter': (host) => new MultiKeyPassing(host),
  'a fencing token that is only the last one plus 1': numbered(({ unusedFence }) => unusedFence, true),
  'a next fencing token that is not stored': numbered(micros, false),
  'an unresponsive process that keeps its places': withStep('removeSilent', () => () => false),
  'an attempt that shortens the lease': withStep('raise', (inside) => (key, ttlMs) => {
    const owner = (inside as unknown as LockTable).owner(key);
    if (owner !== undefined) inside.set(key, owner, ttlMs);
  }),
};
