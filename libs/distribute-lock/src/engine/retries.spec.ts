import { type ManualClock, settled } from '../../../../test/support/manual-clock.js';
import { twoProcesses } from '../../../../test/support/manual-world.js';
import { type AnswerListener, LockStoreError } from '../store/lock-store.js';

const LIMIT_MS = 800;
const TTL_MS = 30_000;

describe('Renewals of a lease that readers share, on a store that does not respond', () => {
  const unresponsive = (clock: ManualClock, afterMs: number) => {
    const renewals = { sent: 0, inFlight: 0, mostInFlight: 0 };
    const detour = async (): Promise<never> => {
      renewals.sent += 1;
      renewals.inFlight += 1;
      renewals.mostInFlight = Math.max(renewals.mostInFlight, renewals.inFlight);
      await new Promise<void>((resolve) => clock.after(afterMs, resolve));
      renewals.inFlight -= 1;
      throw new LockStoreError('no answer', true);
    };
    return { renewals, detour };
  };

  it.each([
    ['that does not answer', LIMIT_MS, TTL_MS, 4],
    ['that fails at once', 1, TTL_MS, 12],
    ['that does not answer, for readers with a longer ttl', LIMIT_MS, 2 * TTL_MS, 4],
    ['that fails at once, for readers with a longer ttl', 1, 2 * TTL_MS, 12],
  ])('are not sent for each reader that enters: %s', async (_, afterMs, ttl, most) => {
    const { clock, here } = twoProcesses();
    await here.acquire('k', { kind: 'read', ttl: TTL_MS });
    const { renewals, detour } = unresponsive(clock, afterMs);
    here.detours.renew = detour;
    await clock.pass(TTL_MS / 3 + 1);
    for (let i = 0; i < 400; i += 1) {
      here.acquire('k', { kind: 'read', ttl }).catch(() => undefined);
      await clock.pass(5);
    }
    expect(renewals.sent).toBeGreaterThan(1);
    expect(renewals.sent).toBeLessThanOrEqual(most);
    expect(renewals.mostInFlight).toBe(1);
  });

  it('keep a non-waiting reader at most 1 s', async () => {
    const { clock, here } = twoProcesses();
    await here.acquire('k', { kind: 'read', ttl: TTL_MS });
    here.detours.renew = unresponsive(clock, LIMIT_MS).detour;
    const waits: Promise<number>[] = [];
    for (let i = 0; i < 100; i += 1) {
      const since = clock.now();
      waits.push(here.acquire('k', { kind: 'read', ttl: 10 * TTL_MS }).then(Number, () => clock.now() - since));
      await clock.pass(50);
    }
    await clock.pass(1_000);
    expect(Math.max(...(await Promise.all(waits)))).toBeLessThanOrEqual(1_000);
  });

  it('let waiting readers in as soon as one is confirmed', async () => {
    const { clock, here } = twoProcesses();
    await here.acquire('k', { kind: 'read', ttl: TTL_MS });
    here.detours.renew = unresponsive(clock, LIMIT_MS).detour;
    const waits = here.acquire('k', { kind: 'read', ttl: 10 * TTL_MS, wait: '20s' });
    await clock.pass(5_000);
    delete here.detours.renew;
    const since = clock.now();
    await clock.pass(LIMIT_MS + 250);
    const lease = await waits;
    expect(lease.isHeld()).toBe(true);
    expect(clock.now() - since).toBeLessThanOrEqual(LIMIT_MS + 250);
  });
});

describe('An attempt with an unanswered command', () => {
  /** The first acquire is not answered in time, and is executed `lateMs` after it was sent. */
  const lateExecution = (clock: ManualClock, lateMs: number) => {
    let first = true;
    return async (ask: () => Promise<unknown>): Promise<unknown> => {
      if (!first) return ask();
      first = false;
      clock.after(lateMs, () => void ask());
      await new Promise<void>((resolve) => clock.after(LIMIT_MS, resolve));
      throw new LockStoreError('no answer', true);
    };
  };

  it('leaves no holder in Redis after its grant and its release', async () => {
    const { clock, here, there } = twoProcesses();
    here.detours.acquire = lateExecution(clock, 1_200);
    const granted = here.acquire('k', { ttl: TTL_MS, wait: '10s' });
    await clock.pass(LIMIT_MS + 100);
    await (await granted).release();
    await clock.pass(350);
    await expect(there.acquire('k')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' }); // the late execution
    await clock.pass(1_300);
    await (await there.acquire('k')).release();
  });

  it('is undone before and after its late execution', async () => {
    const { clock, here, there } = twoProcesses();
    here.detours.acquire = lateExecution(clock, 1_400);
    const refused = expect(here.acquire('k', { ttl: TTL_MS })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await clock.pass(1_450);
    await refused;
    await expect(there.acquire('k')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await clock.pass(1_000);
    await (await there.acquire('k')).release();
  });
});

describe('An attempt whose command is executed after all of its undos', () => {
  it('is undone again when its answer comes', async () => {
    const { clock, here, there } = twoProcesses();
    const lateMs = 10_000;
    here.detours.acquire = (ask) => {
      const deliverTo = (listener: AnswerListener<unknown>): void => {
        clock.after(LIMIT_MS, () => listener.failed(new LockStoreError('no answer', true)));
        clock.after(lateMs, () => void ask().then(() => listener.late?.()));
      };
      return Object.assign(new Promise<unknown>(() => undefined), { deliverTo });
    };
    const refused = expect(here.acquire('k', { ttl: TTL_MS })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await clock.pass(lateMs + 100);
    await refused;
    await (await there.acquire('k')).release();
  });
});

describe('An attempt without a sent command', () => {
  const unsent = async (): Promise<never> => {
    throw new LockStoreError('not connected', true, { sent: false });
  };

  it.each([0, 500])('is not undone, with a wait of %i ms', async (wait) => {
    const { clock, here } = twoProcesses();
    let releases = 0;
    here.detours.acquire = unsent;
    here.detours.release = (ask) => {
      releases += 1;
      return ask();
    };
    const refused = expect(here.acquire('k', { ttl: TTL_MS, wait })).rejects.toThrow('lock');
    await clock.pass(5_000);
    await refused;
    await settled();
    expect(releases).toBe(0);
  });

  it('is undone when an earlier command may have been sent', async () => {
    const { clock, here } = twoProcesses();
    let releases = 0;
    let commands = 0;
    here.detours.acquire = async () => {
      commands += 1;
      throw new LockStoreError('away', true, { sent: commands === 1 });
    };
    here.detours.release = async (ask) => {
      releases += 1;
      return ask();
    };
    const refused = expect(here.acquire('k', { ttl: TTL_MS, wait: 300 })).rejects.toThrow('lock');
    await clock.pass(5_000);
    await refused;
    expect(releases).toBe(2);
  });
});
