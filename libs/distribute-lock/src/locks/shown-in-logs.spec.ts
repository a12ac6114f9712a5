import { inspect } from 'node:util';

import type { LeaseHandle } from '../engine/lease/lease-handle.js';
import type { Lease } from '../engine/lease/lease.js';
import type { OpenLease } from '../engine/lease/open-lease.js';
import { createLocks, type OpenedLocks } from './create-locks.js';

let locks: OpenedLocks;

beforeAll(async () => {
  locks = await createLocks({ connection: 'memory' });
});
afterAll(() => locks.close());

/** The secret of the process, which every owner token contains. */
async function secret(): Promise<string> {
  await using lease = await locks.acquire('secret');
  const { ownerToken } = ((lease as OpenLease).inner as LeaseHandle).grant;
  return /^([\w-]{22}):/.exec(ownerToken)![1];
}

const LEASES: Record<string, (look: (lease: Lease) => Promise<void>) => Promise<void>> = {
  'of one key': async (look) => {
    await using lease = await locks.acquire('one');
    await look(lease);
  },
  'of several keys': async (look) => {
    await using lease = await locks.acquire(['one', 'two']);
    await look(lease);
  },
  'of a reader': async (look) => {
    await using lease = await locks.acquire('read', { kind: 'read' });
    await look(lease);
  },
  'of a permit': async (look) => {
    await using lease = await locks.acquire('permit', { kind: 'semaphore', permits: 2 });
    await look(lease);
  },
  'that a callback gets': (look) => locks.withLock('callback', look),
  'of a nested call': (look) =>
    locks.withLock('nested', () => locks.withLock('nested', { reentrant: true }, (lease) => look(lease))),
};

describe('a log', () => {
  it.each(Object.keys(LEASES))('shows the key and the fencing token of a lease %s, and nothing else', async (name) => {
    await LEASES[name](async (lease) => {
      const shown = { keys: lease.keys, fencingToken: lease.fencingToken, held: true };
      expect(inspect(lease, { depth: Infinity })).toBe(inspect(shown));
      expect(JSON.parse(JSON.stringify(lease))).toEqual(shown);
    });
  });

  it('shows no owner token with the locks, a leader and its term', async () => {
    let leader: unknown;
    const term = await new Promise<unknown>((resolve) => {
      leader = locks.lead('feed', async (own) => resolve(own));
    });
    expect(inspect([locks, leader, term], { depth: Infinity })).not.toContain(await secret());
  });
});

it('a failed comparison with a lease shows it, and not the engine', async () => {
  await using lease = await locks.acquire('compared');
  const { inner } = lease as OpenLease;
  expect(() => expect(inner).toMatchObject({ code: 'LOCK_CONTENDED' })).toThrow(
    expect.objectContaining({ message: expect.not.stringMatching(/LockEngine|LockStore/) }),
  );
});
