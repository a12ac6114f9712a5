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
  const [processId] = ((lease as OpenLease).inner as LeaseHandle).grant.ownerToken.split(':');
  expect(processId.length).toBeGreaterThan(20);
  return processId;
}

async function expectNoSecret(value: unknown): Promise<void> {
  expect(inspect(value, { depth: Infinity })).not.toContain(await secret());
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
  it.each(Object.keys(LEASES))('shows the key of a lease %s, and not its owner token', async (name) => {
    await LEASES[name](async (lease) => {
      for (const shown of [inspect(lease, { depth: Infinity }), JSON.stringify(lease)]) {
        expect(shown).not.toContain(await secret());
        expect(shown).toContain(lease.key);
        expect(shown).toContain(String(lease.fencingToken));
        // The engine and its connections would be thousands of lines.
        expect(shown.length).toBeLessThan(300);
      }
    });
  });

  it('shows no owner token with the locks, a leader and its term', async () => {
    await expectNoSecret(locks);
    let leader: unknown;
    const term = await new Promise<unknown>((resolve) => {
      leader = locks.lead('feed', async (own) => resolve(own));
    });
    await expectNoSecret([leader, term]);
  });
});

it('a failed comparison with a lease shows it, and not the engine', async () => {
  await using lease = await locks.acquire('compared');
  const compare = (): void => expect((lease as OpenLease).inner).toMatchObject({ code: 'LOCK_CONTENDED' });
  const error = await Promise.resolve()
    .then(compare)
    .catch((failure: unknown) => failure as Error);
  expect(error?.message.length).toBeLessThan(5_000);
});
