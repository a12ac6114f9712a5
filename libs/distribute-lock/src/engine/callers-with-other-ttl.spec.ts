import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { type ManualClock, settled } from '../../../../test/support/manual-clock.js';
import { type ManualProcess, twoProcesses } from '../../../../test/support/manual-world.js';
import { LockStoreError } from '../store/lock-store.js';
import type { Lease } from './lease/lease.js';

describe('A caller behind callers of its process with another ttl', () => {
  const HOUR = { ttl: '1h', wait: '10s' } as const;
  const BRIEF = { ttl: 2_000, wait: '10s', renew: false } as const;
  /** The lease is proven for at most 2 s, and then another process gets the lock. */
  async function expectBrief(clock: ManualClock, lease: Lease, there: { acquire(key: string): Promise<Lease> }) {
    expect(lease.remainingMs()).toBeGreaterThan(1_900);
    expect(lease.remainingMs()).toBeLessThanOrEqual(2_000);
    await clock.pass(2_010);
    expect(lease.isHeld()).toBe(false);
    await (await there.acquire('k')).release();
  }

  it.each([
    ['asked for an hour', HOUR, undefined],
    ['extended it to an hour', { ...BRIEF, renew: true }, '1h'],
  ] as const)('gets a lease of its ttl after a caller that %s', async (_, options, extension) => {
    const { clock, here, there } = twoProcesses();
    const before = await here.acquire('k');
    // One command for both, so that the grant has a number for each.
    const [requested, second] = [here.acquire('k', options), here.acquire('k', BRIEF)];
    await clock.pass(10);
    await before.release();
    const first = await requested;
    if (extension !== undefined) await first.extend(extension);
    await clock.pass(10);
    await first.release();
    await clock.pass(10);
    await expectBrief(clock, await second, there);
  });

  const AN_HOUR = 3_600_000;
  const TEN = { ttl: '10s', wait: '10s' } as const;
  const keyLasts = async ({ engine }: ManualProcess): Promise<number> => (await engine.inspect('k')).remainingMs ?? 0;

  describe.each(['comes after its release', 'is lost'])('after a caller whose reply to an extension %s', (what) => {
    async function extendAndRelease({ detours }: ManualProcess, lease: Lease): Promise<void> {
      const late = new LateAnswers();
      detours.renew = async (ask) => {
        await late.detour(ask);
        return what === 'is lost' ? [new LockStoreError('no reply', true)] : [0];
      };
      const code = what === 'is lost' ? 'LOCK_UNAVAILABLE' : 'LEASE_LOST';
      const extended = expect(lease.extend(AN_HOUR)).rejects.toMatchObject({ code });
      await settled();
      delete detours.renew;
      if (what === 'is lost') late.arrive();
      await settled();
      await lease.release();
      late.arrive();
      await extended;
    }

    it('gets a lease of its ttl', async () => {
      const { clock, here } = twoProcesses();
      const before = await here.acquire('k');
      const [requested, second] = [here.acquire('k', TEN), here.acquire('k', TEN)];
      await clock.pass(10);
      await before.release();
      await extendAndRelease(here, await requested);
      await clock.pass(10);
      await second;
      expect(await keyLasts(here)).toBeLessThanOrEqual(10_000);
    });

    it('keeps a lease of its ttl as a reader', async () => {
      const { clock, here } = twoProcesses();
      const first = await here.acquire('k', { ...TEN, kind: 'read' });
      const second = await here.acquire('k', { ...TEN, kind: 'read' });
      await extendAndRelease(here, first);
      await clock.pass(1_000);
      expect(await keyLasts(here)).toBeLessThanOrEqual(10_000);
      await clock.pass(20_000);
      expect(second.isHeld()).toBe(true);
    });
  });

  it.each([
    ['gets no reply', async () => Promise.resolve([new LockStoreError('no reply', true)])],
    ['is rejected by the store', async () => Promise.reject(new LockStoreError('no reply', true))],
  ])('shares no longer lease than its ttl with a downgraded writer whose extension %s', async (_, end) => {
    const { clock, here } = twoProcesses();
    const writer = await here.acquire('k', { kind: 'write', ttl: 2_000 });
    here.detours.renew = async (ask) => {
      await ask();
      return end();
    };
    await expect(writer.extend(60_000)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    delete here.detours.renew;
    await writer.downgrade();
    const reader = await here.acquire('k', { kind: 'read', ttl: 2_000 });
    await writer.release();
    await clock.pass(1_500);
    expect(reader.isHeld()).toBe(true);
    expect(await keyLasts(here)).toBeLessThanOrEqual(2_000);
  });

  it('gets a lease of its ttl with strict fairness', async () => {
    const { clock, here, there } = twoProcesses();
    const first = await here.acquire('k', { ttl: 2_000, fair: 'strict' });
    const second = here.acquire('k', { ...BRIEF, fair: 'strict' });
    const leaving = new AbortController();
    const third = here.acquire('k', { ...HOUR, fair: 'strict', signal: leaving.signal });
    await clock.pass(10);
    await first.release();
    await clock.pass(10);
    const lease = await second;
    leaving.abort();
    await expect(third).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    await clock.pass(10);
    await expectBrief(clock, lease, there);
  });

  it('gets a lease of its ttl when the caller that sent the attempt has left', async () => {
    const { clock, here, there } = twoProcesses();
    const late = new LateAnswers();
    here.detours.acquire = late.detour;
    const leaving = new AbortController();
    const first = here.acquire('k', { ...HOUR, signal: leaving.signal });
    await clock.pass(10);
    const second = here.acquire('k', BRIEF);
    leaving.abort();
    await expect(first).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    delete here.detours.acquire;
    late.arrive();
    await clock.pass(10);
    await expectBrief(clock, await second, there);
  });

  it('needs no command when all callers want the same ttl', async () => {
    const { clock, here } = twoProcesses();
    const before = await here.acquire('k');
    const leases = Array.from({ length: 4 }, () => here.acquire('k', HOUR));
    await before.release();
    let commands = 0;
    here.detours.acquire = here.detours.release = (ask) => {
      commands += 1;
      return ask();
    };
    for (const requested of leases) {
      await (await requested).release();
      await clock.pass(1);
    }
    expect(commands).toBe(1);
  });
});
