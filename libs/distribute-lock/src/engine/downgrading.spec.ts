import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import { LockStoreError } from '../store/lock-store.js';
import { EXECUTION_LIMIT_MS } from '../store/protocol.js';

const refuse = (): Promise<never> => Promise.reject(new LockStoreError('NOPERM', false));

describe('A writer that becomes a reader', () => {
  const start = async (ttl: number, renew = true) => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const here = world.process();
    const there = world.process();
    const lease = await here.acquire('k', { kind: 'write', ttl, renew });
    /** The outcomes of all promises. */
    const outcomes = (...all: readonly Promise<unknown>[]) =>
      Promise.all(
        all.map((each) =>
          each.then(
            () => 'made',
            (error: { code: string }) => error.code,
          ),
        ),
      );
    return { clock, here, there, lease, outcomes };
  };
  const kept = (lease: LeaseHandle): string => `${lease.isHeld()}, ${lease.kind}`;

  it('holds its lease no longer than the store does when an extension is in flight', async () => {
    const { clock, here, there, lease } = await start(1_000, false);
    const late = new LateAnswers();
    here.detours.renew = here.detours.downgrade = late.detour;
    const extended = lease.extend(3_000);
    await clock.pass(500);
    const downgraded = lease.downgrade();
    await clock.pass(20);
    late.arrive();
    await extended;
    await clock.pass(20);
    late.arrive();
    await downgraded;
    // The writer's lease ended 3 s after the extension was sent, the reader's 3 s after the downgrade was.
    await clock.pass(2_490);
    await there.acquire('k', { kind: 'write' }).then(
      (next) => {
        expect(lease.isHeld()).toBe(false);
        return next.release();
      },
      () => undefined,
    );
    await clock.pass(520);
    expect(lease.isHeld()).toBe(false);
    await (await there.acquire('k', { kind: 'write' })).release();
  });

  it.each(['extend() first', 'downgrade() first'])(
    'keeps the result of an extension in the same tick, %s',
    async (order) => {
      const { clock, lease, outcomes } = await start(1_000, false);
      const wishes = [() => lease.extend(3_000), () => lease.downgrade()];
      if (order === 'downgrade() first') wishes.reverse();
      const made = outcomes(...wishes.map((wish) => wish()));
      await clock.pass(10);
      expect(await made).toEqual(['made', 'made']);
      expect(lease.kind).toBe('read');
      expect(lease.remainingMs()).toBeGreaterThan(2_900);
    },
  );

  it('is still renewed when the server rejects the downgrade', async () => {
    const { clock, here, lease, outcomes } = await start(1_000);
    here.detours.downgrade = async () => {
      await new Promise<void>((resolve) => void clock.after(400, resolve));
      return refuse();
    };
    const refused = outcomes(lease.downgrade());
    await clock.pass(400);
    expect(await refused).toEqual(['LOCK_UNAVAILABLE']);
    await clock.pass(5_000);
    expect(kept(lease)).toBe('true, exclusive');
    expect(here.events.map(({ type }) => type)).toEqual(['acquired']);
  });

  it('is still extended when the server rejects the downgrade', async () => {
    const { clock, here, lease, outcomes } = await start(1_000);
    here.detours.downgrade = refuse;
    const made = outcomes(lease.downgrade(), lease.extend(5_000));
    await clock.pass(10);
    expect(await made).toEqual(['LOCK_UNAVAILABLE', 'made']);
    expect(lease.remainingMs()).toBeGreaterThan(4_900);
  });

  it('stays a writer when the extension before it finds the lease released', async () => {
    const { clock, here, there, lease, outcomes } = await start(1_000);
    const late = new LateAnswers();
    here.detours.renew = late.detour;
    const made = outcomes(lease.extend(5_000), lease.downgrade());
    const released = lease.release();
    await clock.pass(10);
    late.arrive();
    expect(await made).toEqual(['LEASE_LOST', 'LEASE_LOST']);
    await released;
    await (await there.acquire('k')).release();
  });

  it('leaves no lock in the store when the command that acquired it is executed again', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process(), world.process()];
    here.detours.acquire = async (ask) => ({ ...((await ask()) as object), resent: true });
    const lease = await here.acquire('k', { kind: 'write', ttl: 60_000 });
    const { ownerToken } = lease.grant;
    await lease.downgrade();
    await lease.release();
    const again = { key: 'k', ownerToken, kind: 'write', ttlMs: 60_000, wait: false, block: 1 } as const;
    expect(await world.store.acquire(again)).toMatchObject({ outcome: 'granted' });
    await clock.pass(EXECUTION_LIMIT_MS + 100);
    await (await there.acquire('k')).release();
  });
});
