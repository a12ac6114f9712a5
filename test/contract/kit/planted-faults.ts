import type { LockStore } from 'nestjs-distribute-lock';

/** A store with one fault, over a store without. */
type Plant = (store: LockStore) => Partial<LockStore>;

export interface PlantedFault {
  readonly fault: string;
  /** A rule that the fault breaks. */
  readonly breaks: string;
  readonly plant: Plant;
}

const planted = (fault: string, breaks: string, plant: Plant): PlantedFault => ({ fault, breaks, plant });

/** Each owner token that acquired last, by key. */
const lastOwners = new Map<string, string>();

/** Faults that a store for another database may have. Each is in one command. */
export const PLANTED: readonly PlantedFault[] = [
  planted(
    'grants a lock although another owner holds it',
    'refuses every other owner token while the lock is held',
    (store) => ({
      async acquire(request) {
        const answer = await store.acquire(request);
        return answer.outcome === 'busy' ? { outcome: 'granted', fencingToken: 1, waiting: 0 } : answer;
      },
    }),
  ),
  planted('refuses the token that holds the lock', 'grants the lock again to the token that holds it', (store) => ({
    async acquire(request) {
      const [renewed] = await store.renew([{ ...request, ttlMs: 1 }]);
      if (renewed === 0) return { outcome: request.wait ? 'queued' : 'busy', remainingMs: -1, foreign: true };
      return store.acquire(request);
    },
  })),
  planted('releases for any token', 'lets only the holder release', (store) => ({
    async acquire(request) {
      const answer = await store.acquire(request);
      if (answer.outcome === 'granted') lastOwners.set(request.key, request.ownerToken);
      return answer;
    },
    release: (request) => store.release({ ...request, ownerToken: lastOwners.get(request.key) ?? request.ownerToken }),
  })),
  planted('answers free to every release', 'answers lost to a release by a token that holds nothing', (store) => ({
    async release(request) {
      await store.release(request);
      return { outcome: 'free' };
    },
  })),
  planted('releases nothing', 'gives a released lock to the next caller', () => ({
    release: async () => ({ outcome: 'free' }),
  })),
  planted('renews for any token', 'lets only the holder renew', () => ({
    renew: async (requests) => requests.map(() => 0),
  })),
  planted('does not extend a lease', 'extends a lease by a renewal', (store) => ({
    renew: (requests) => store.renew(requests.map((request) => ({ ...request, ttlMs: 1 }))),
  })),
  planted('shortens a lease by a renewal', 'does not shorten a lease by a renewal', (store) => ({
    renew: (requests) => store.renew(requests.map((request) => ({ ...request, exact: true }))),
  })),
  planted('shortens a lease by a repeated acquire', 'does not shorten a lease by a repeated acquire', (store) => ({
    async acquire(request) {
      await store.renew([{ ...request, exact: true }]);
      const answer = await store.acquire({ ...request, ttlMs: 1 });
      await store.renew([{ ...request, exact: true }]);
      return answer;
    },
  })),
  planted('ignores exact', 'shortens a lease by an exact renewal', (store) => ({
    renew: (requests) => store.renew(requests.map((request) => ({ ...request, exact: false }))),
  })),
  planted('restores an ended lease', 'does not restore an ended lease by a renewal', (store) => ({
    async renew(requests) {
      const answers = await store.renew(requests);
      for (const [i, request] of requests.entries())
        if (answers[i] === 'lost') await store.acquire({ ...request, wait: false, block: 1 });
      return answers;
    },
  })),
  planted('never ends a lease', 'ends a lease when its ttl has passed, and not before', (store) => ({
    acquire: (request) => store.acquire({ ...request, ttlMs: 10_000_000 }),
  })),
  planted('ends a lease early', 'ends a lease when its ttl has passed, and not before', (store) => ({
    acquire: (request) => store.acquire({ ...request, ttlMs: request.ttlMs / 4 }),
  })),
  planted('issues one fencing token forever', 'raises the fencing token with every grant of a key', (store) => ({
    async acquire(request) {
      const answer = await store.acquire(request);
      return answer.outcome === 'granted' ? { ...answer, fencingToken: 7 } : answer;
    },
  })),
  planted(
    'reserves one fencing token for a block',
    'reserves as many fencing tokens as the request names',
    (store) => ({
      acquire: (request) => store.acquire({ ...request, block: 1 }),
    }),
  ),
  planted('answers renewals in another order', 'answers renewals in the order of their requests', (store) => ({
    async renew(requests) {
      const [first, ...others] = await store.renew(requests);
      return [...others, ...(first === undefined ? [] : [first])];
    },
  })),
  planted('confuses keys of other case', 'keeps the locks of different keys apart', (store) => ({
    acquire: (request) => store.acquire({ ...request, key: request.key.toLowerCase() }),
    release: (request) => store.release({ ...request, key: request.key.toLowerCase() }),
  })),
  planted('answers busy to a waiter', 'queues a waiter, and serves it after the release', (store) => ({
    acquire: (request) => store.acquire({ ...request, wait: false }),
  })),
  planted('announces messages that it does not send', 'queues a waiter, and serves it after the release', (store) => ({
    async acquire(request) {
      const answer = await store.acquire(request);
      return answer.outcome === 'granted' ? answer : { ...answer, foreign: false };
    },
  })),
  planted('grants the lock to a waiter that has left', 'forgets a waiter that leaves', (store) => ({
    async release(request) {
      const answer = await store.release(request);
      const next = waiting.get(request.key);
      if (answer.outcome === 'free' && next !== undefined)
        await store.acquire({ ...request, ownerToken: next, ttlMs: 60_000, wait: false, block: 1 });
      return answer;
    },
    async acquire(request) {
      const answer = await store.acquire(request);
      if (answer.outcome === 'queued') waiting.set(request.key, request.ownerToken);
      return answer;
    },
  })),
  planted('acquires some of several locks', 'acquires several locks or none', (store) => ({
    async acquireAll(requests) {
      const answers = await Promise.all(requests.map((request) => store.acquire(request)));
      const tokens = answers.flatMap((answer) => (answer.outcome === 'granted' ? [answer.fencingToken] : []));
      return tokens.length === requests.length
        ? { outcome: 'granted', fencingTokens: tokens }
        : { outcome: 'busy', remainingMs: -1 };
    },
  })),
  planted('shows a holder that it has released', 'shows the holder of a lock, and changes nothing', (store) => ({
    async inspect(key) {
      const state = await store.inspect!(key);
      if (state.kind === 'exclusive') shown.set(key, state);
      return shown.get(key) ?? state;
    },
  })),
  planted('releases every holder by force', 'releases a lock by force', (store) => ({
    force: (key) => store.force!(key),
  })),
  planted(
    'loses its locks when a store closes',
    'keeps the locks of a process whose store was closed, until their leases end',
    (store) => {
      const own: { key: string; ownerToken: string }[] = [];
      return {
        async acquire(request) {
          own.push(request);
          return store.acquire(request);
        },
        async close() {
          for (const { key, ownerToken } of own) await store.release({ key, ownerToken });
        },
      };
    },
  ),
];

const waiting = new Map<string, string>();
const shown = new Map<string, Awaited<ReturnType<NonNullable<LockStore['inspect']>>>>();

/** The store, with the members of the plant in place of the same members of the store. */
export function withFault(store: LockStore, { plant }: PlantedFault): LockStore {
  const changed = plant(store);
  return new Proxy(store, {
    get(target, name) {
      if (name in changed) return Reflect.get(changed, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
