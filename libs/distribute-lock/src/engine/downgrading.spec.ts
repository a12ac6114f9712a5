import { LateAnswers, LateCommand } from '../../../../test/support/held-up-store.js';
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

  it('keeps a reader whose command was sent before its own and executed after it', async () => {
    const { clock, here, there, lease } = await start(1_000);
    const late = new LateAnswers();
    const reads = new LateCommand();
    here.detours.downgrade = late.detour;
    here.detours.acquire = reads.detour;
    await clock.pass(10);
    const reading = here.acquire('k', { kind: 'read', ttl: 1_000, wait: '1s' });
    await clock.pass(10);
    const downgraded = lease.downgrade();
    reads.execute();
    const reader = await reading;
    late.arrive();
    await downgraded;
    expect(here.events.map(({ type }) => type)).toEqual(['acquired', 'acquired']);
    await clock.pass(3_000);
    expect([reader.isHeld(), kept(lease)]).toEqual([true, 'true, read']);
    await Promise.all([reader.release(), lease.release()]);
    await (await there.acquire('k')).release();
  });

  it('keeps a reader whose command was sent before the writer began, and executed after the downgrade', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const here = world.process();
    const [writes, downgrades] = [new LateAnswers(), new LateAnswers()];
    here.detours.acquire = writes.detour;
    here.detours.downgrade = downgrades.detour;
    const writing = here.acquire('k', { kind: 'write', ttl: 2_000 });
    await clock.pass(5);
    const reads = new LateCommand();
    here.detours.acquire = reads.detour;
    const reading = here.acquire('k', { kind: 'read', ttl: 2_000, wait: '5s' });
    await clock.pass(5);
    writes.arrive();
    const lease = await writing;
    const downgraded = lease.downgrade();
    await clock.pass(5);
    reads.execute();
    const reader = await reading;
    downgrades.arrive();
    await downgraded;
    expect(here.events.map(({ type }) => type)).toEqual(['acquired', 'acquired']);
    await clock.pass(3_000);
    expect([reader.isHeld(), kept(lease)]).toEqual([true, 'true, read']);
    await Promise.all([reader.release(), lease.release()]);
  });

  it('admits no further readers when the message that a writer waits was here before its reply', async () => {
    const { clock, here, there, lease } = await start(30_000);
    const late = new LateAnswers();
    here.detours.downgrade = late.detour;
    const downgraded = lease.downgrade();
    await clock.pass(1);
    const written = there.acquire('k', { kind: 'write', wait: '5s' });
    await clock.pass(1);
    late.arrive();
    await downgraded;
    await expect(here.acquire('k', { kind: 'read' })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lease.release();
    await (await written).release();
  });

  it('does not share the lease of a reader that ended in the store before the writer began', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process(), world.process()];
    const reader = await here.acquire('k', { kind: 'read', ttl: 60_000 });
    await world.store.release({ key: 'k', ownerToken: reader.grant.ownerToken, kind: 'read' });
    const lease = await here.acquire('k', { kind: 'write', ttl: 1_000 });
    await lease.downgrade();
    expect([reader.isHeld(), kept(lease)]).toEqual([false, 'true, read']);
    await clock.pass(3_000);
    expect(kept(lease)).toBe('true, read');
    await expect(there.acquire('k', { kind: 'write' })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lease.release();
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

  describe('whose downgrade has no reply', () => {
    /** The first downgrade fails without a reply, and the second one as `second` says. */
    const startLate = async (second?: Error) => {
      const world = await start(1_000);
      const { here, lease } = world;
      await lease.release();
      const late: { execute?: () => Promise<unknown> } = {};
      here.detours.downgrade = async (ask) => {
        if (late.execute !== undefined && second !== undefined) throw second;
        late.execute ??= ask;
        throw new LockStoreError('no reply', true);
      };
      return { ...world, late };
    };

    it('does not hand its grant over to the next caller, because the command may be executed late', async () => {
      const { clock, here, there, late } = await startLate();
      const before = await here.acquire('k', { ttl: 1_000 });
      // One command for both, so that the grant has a number for each.
      const [writer, next] = [1, 2].map(() => here.acquire('k', { ttl: 1_000, wait: '10s' }));
      await before.release();
      await clock.pass(1);
      const first = await writer;
      const downgraded = first.downgrade().catch(() => undefined);
      await clock.pass(1);
      const released = first.release();
      await clock.pass(100);
      await Promise.all([downgraded, released]);
      const holder = await next;

      await late.execute!();
      await clock.pass(10);
      expect(holder.isHeld()).toBe(true);
      await expect(there.acquire('k', { kind: 'read' })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    });

    it('is not reported as lost when the release finds its write lock replaced', async () => {
      const { clock, here, there, late } = await startLate();
      const writer = await here.acquire('k', { ttl: 1_000 });
      const downgraded = writer.downgrade().catch(() => undefined);
      await clock.pass(1);
      await late.execute!();
      const released = writer.release();
      await clock.pass(100);
      await Promise.all([downgraded, released]);
      expect(writer.signal.aborted).toBe(false);
      expect(here.events.map(({ type }) => type)).not.toContain('lost');
      await (await there.acquire('k')).release();
    });

    it('is lost when the lock engine is closed before the reply', async () => {
      const { clock, here, there, late, outcomes } = await startLate();
      const writer = await here.acquire('k', { ttl: 1_000 });
      const refused = outcomes(writer.downgrade());
      await clock.pass(10);
      await here.engine.close();
      expect(await refused).toEqual(['LOCK_UNAVAILABLE']);
      await late.execute!();
      const reader = await there.acquire('k', { kind: 'read' });
      expect([writer.isHeld(), reader.isHeld()]).toEqual([false, true]);
      expect(writer.signal.reason).toMatchObject({
        reason: 'shutdown',
        message: expect.stringContaining('the application has shut down before Redis confirmed its downgrade'),
      });
    });

    it('is lost when the server rejects the next downgrade', async () => {
      const { clock, here, there, late, outcomes } = await startLate(new LockStoreError('NOPERM', false));
      const writer = await here.acquire('k', { ttl: 1_000 });
      const refused = outcomes(writer.downgrade());
      await clock.pass(200);
      expect(await refused).toEqual(['LEASE_LOST']);
      expect(writer.isHeld()).toBe(false);
      expect(writer.signal.reason).toMatchObject({
        reason: 'outage',
        message: expect.stringContaining('Redis rejected its downgrade, but may execute an earlier attempt'),
      });
      await late.execute!();
      await (await there.acquire('k')).release();
    });
  });
});
