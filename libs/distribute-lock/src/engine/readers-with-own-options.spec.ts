import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { type ManualClock, settled } from '../../../../test/support/manual-clock.js';
import { type ManualProcess, twoProcesses } from '../../../../test/support/manual-world.js';
import { LockStoreError } from '../store/lock-store.js';

const kind = 'read';

describe('A lease that readers share', () => {
  it('is proven no longer than an unconfirmed shortening allows, because that may be executed late', async () => {
    const { clock, here, there } = twoProcesses();
    const short = await here.acquire('k', { kind, ttl: 1_000 });
    const visitor = await here.acquire('k', { kind, ttl: 60_000 });
    let execute: (() => Promise<unknown>) | undefined;
    here.detours.renew = async (ask) => {
      if (execute !== undefined) return ask();
      execute = ask;
      throw new LockStoreError('no reply', true);
    };
    await visitor.release();
    await clock.pass(500);
    expect(execute).toBeDefined();
    const next = await here.acquire('k', { kind, ttl: 60_000 });
    expect([short.isHeld(), next.isHeld()]).toEqual([true, true]);

    await execute!();
    here.detours.renew = () => new Promise(() => undefined);
    await clock.pass(1_100);

    await (await there.acquire('k', { kind: 'write' })).release();
    expect([short.isHeld(), next.isHeld()]).toEqual([false, false]);
  });

  it('is not extended while a shortening is unconfirmed', async () => {
    const { clock, here } = twoProcesses();
    const short = await here.acquire('k', { kind, ttl: 1_000 });
    const visitor = await here.acquire('k', { kind, ttl: 60_000 });
    let failures = 0;
    here.detours.renew = async (ask) => {
      failures += 1;
      if (failures > 1) return ask();
      throw new LockStoreError('no reply', true);
    };
    await visitor.release();
    await clock.pass(340);
    expect(failures).toBe(1);
    await expect(short.extend(60_000)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(short.remainingMs()).toBeLessThanOrEqual(1_000);
  });

  it('regains its full length once the shortening is confirmed', async () => {
    const { clock, here } = twoProcesses();
    const short = await here.acquire('k', { kind, ttl: 1_000 });
    const visitor = await here.acquire('k', { kind, ttl: 60_000 });
    await visitor.release();
    await clock.pass(500);
    const next = await here.acquire('k', { kind, ttl: 60_000 });
    expect(next.remainingMs()).toBeGreaterThan(59_000);
    expect(short.remainingMs()).toBeLessThanOrEqual(1_000);
  });

  it('is not shortened while a reader needs its length', async () => {
    const { clock, here, there } = twoProcesses();
    const long = await here.acquire('k', { kind, ttl: 60_000 });
    const short = await here.acquire('k', { kind, ttl: 1_000 });
    await short.release();
    await clock.pass(5_000);
    here.detours.renew = () => new Promise(() => undefined);
    await clock.pass(20_000);
    expect(long.isHeld()).toBe(true);
    await expect(there.acquire('k', { kind: 'write' })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  });

  it.each([
    ['a renewal', 500],
    ['an extension', 10],
  ])('loses a reader for good whose time passed before the reply to %s', async (of, passedMs) => {
    const { clock, here } = twoProcesses();
    const short = await here.acquire('k', { kind, ttl: 1_000 });
    const long = await here.acquire('k', { kind, ttl: 60_000 });
    await clock.pass(5);
    const late = new LateAnswers();
    here.detours.renew = late.detour;
    if (of === 'an extension') void long.extend(60_000);
    await clock.pass(passedMs);
    expect(late.size).toBe(1);
    clock.jump(987 - passedMs);
    expect([short.isHeld(), long.isHeld()]).toEqual([false, true]);

    late.arrive();
    await settled();
    expect([short.isHeld(), long.isHeld()]).toEqual([false, true]);
    expect(short.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
  });

  it('is renewed for a reader whose ttl ends before its maxHold, beside a reader with a longer lease', async () => {
    const { clock, here } = twoProcesses();
    const long = await here.acquire('k', { kind, ttl: '1h' });
    const limited = await here.acquire('k', { kind, ttl: 1_000, maxHold: 1_500 });
    await clock.pass(1_440);
    expect(limited.isHeld()).toBe(true);
    await clock.pass(60);
    expect(limited.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'maxHold' });
    expect(long.isHeld()).toBe(true);
  });

  it('is not shortened for a reader without renewal by an extension below the rest of its ttl', async () => {
    const { clock, here } = twoProcesses();
    const reader = await here.acquire('k', { kind, ttl: 10_000, renew: false });
    await clock.pass(1_000);
    await reader.extend(100);
    await clock.pass(8_000);
    expect(reader.isHeld()).toBe(true);
    await clock.pass(900);
    expect(reader.isHeld()).toBe(false);
  });

  /** The process crashes 4 s later. The lease lasts no longer than the 10 s of the reader that remains. */
  async function expectFreeAfterCrash(clock: ManualClock, here: ManualProcess, there: ManualProcess): Promise<void> {
    await clock.pass(4_000);
    here.detours.renew = here.detours.release = () => new Promise(() => undefined);
    await clock.pass(6_010);
    await (await there.acquire('k', { kind: 'write' })).release();
  }

  it('is shortened again when the reader that needed its length has left before the reply', async () => {
    const { clock, here, there } = twoProcesses();
    await here.acquire('k', { kind, ttl: 10_000, renew: false });
    const late = new LateAnswers();
    here.detours.renew = late.detour;
    const leaving = new AbortController();
    const visit = here.acquire('k', { kind, ttl: '1h', wait: '5s', signal: leaving.signal });
    await clock.pass(1);
    leaving.abort();
    await expect(visit).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    delete here.detours.renew;
    late.arrive();
    await expectFreeAfterCrash(clock, here, there);
  });

  it('is shortened again when the command of the reader that needed its length got no reply', async () => {
    const { clock, here, there } = twoProcesses();
    await here.acquire('k', { kind, ttl: 10_000, renew: false });
    here.detours.renew = async (ask) => {
      await ask();
      throw new LockStoreError('no reply', true);
    };
    await expect(here.acquire('k', { kind, ttl: '1h' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    delete here.detours.renew;
    await expectFreeAfterCrash(clock, here, there);
  });

  it('is not lengthened for a reader that waits behind a writer', async () => {
    const { clock, here, there } = twoProcesses();
    await here.acquire('k', { kind, ttl: 10_000, renew: false });
    const writing = there.acquire('k', { kind: 'write', wait: '20s' });
    await clock.pass(10);
    const reading = here.acquire('k', { kind, ttl: '1h', wait: '9s' });
    const refused = expect(reading).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    for (let i = 0; i < 9_000 / 50; i += 1) {
      await clock.pass(50);
      expect((await there.engine.inspect('k')).remainingMs).toBeLessThanOrEqual(10_000);
    }
    await refused;
    here.detours.renew = here.detours.release = () => new Promise(() => undefined); // the process crashes
    await clock.pass(1_200);
    await (await writing).release();
  });

  it('is shortened again when a writer came before the reply, and the reader has left', async () => {
    const { clock, here, there } = twoProcesses();
    await here.acquire('k', { kind, ttl: 10_000, renew: false });
    const late = new LateAnswers();
    here.detours.renew = late.detour;
    const leaving = new AbortController();
    const visit = here.acquire('k', { kind, ttl: '1h', wait: '9s', signal: leaving.signal });
    await clock.pass(10);
    const writing = there.acquire('k', { kind: 'write', wait: '20s' });
    await clock.pass(10);
    delete here.detours.renew;
    late.arrive();
    await clock.pass(10);
    leaving.abort();
    await expect(visit).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    await clock.pass(4_000);
    here.detours.renew = here.detours.release = () => new Promise(() => undefined); // the process crashes
    await clock.pass(6_200);
    await (await writing).release();
  });

  it.each([
    ['expired', {}],
    ['maxHold', { maxHold: 1_000 }],
  ] as const)('ends with the reason %s for its only reader, which wants no renewal', async (reason, options) => {
    const { clock, here } = twoProcesses();
    const reader = await here.acquire('k', { kind, ttl: 1_000, renew: false, ...options });
    await clock.pass(1_000);
    expect(reader.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason });
  });

  it('notifies a reader of its end while a failed renewal waits for its repetition', async () => {
    const { clock, here } = twoProcesses();
    await here.acquire('k', { kind, ttl: 3_000 });
    here.detours.renew = () => Promise.reject(new LockStoreError('no reply', true));
    // The pause between tries has grown to 200 ms.
    await clock.pass(1_400);
    const short = await here.acquire('k', { kind, ttl: 50 });
    let lostAt = 0;
    short.signal.addEventListener('abort', () => (lostAt = clock.now()));
    const joinedAt = clock.now();
    while (short.isHeld()) await clock.pass(1);
    await clock.pass(2);
    expect(clock.now() - joinedAt).toBeLessThanOrEqual(52);
    expect(lostAt - joinedAt).toBeGreaterThan(40);
  });

  it('names the ttl of the reader that is lost, not that of the shared lease', async () => {
    const { clock, here } = twoProcesses();
    await here.acquire('k', { kind, ttl: 60_000 });
    const short = await here.acquire('k', { kind, ttl: 1_000, renew: false });
    await clock.pass(2_000);
    expect(short.signal.reason).toMatchObject({
      reason: 'expired',
      message: expect.stringContaining('its ttl of 1000 ms has passed, and "renew" is false'),
    });
  });
});
