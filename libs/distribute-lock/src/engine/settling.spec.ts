import { jest } from '@jest/globals';

import { type Detour, LateAnswers } from '../../../../test/support/held-up-store.js';
import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import { LockStoreError } from '../store/lock-store.js';
import { KeyState } from './key-state.js';
import { LeaseHandle } from './lease/lease-handle.js';
import { MOST_LATE_MS } from './settling.js';

describe('A call whose wait is over', () => {
  const READ = { kind: 'read', ttl: 2_000 } as const;
  const never: Detour = () => new Promise(() => undefined);

  interface Outcome {
    at?: number;
    with?: unknown;
  }

  const expectUnavailableInTime = (outcome: Outcome, since: number): void => {
    expect(outcome.with).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(outcome.at! - since).toBeLessThanOrEqual(MOST_LATE_MS + 1);
  };

  const start = () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process(), world.process()];
    const late = new LateAnswers();
    /** Records when and how the call settles. */
    const settles = (call: Promise<unknown>): Outcome => {
      const outcome: Outcome = {};
      const record = (value: unknown): void => void Object.assign(outcome, { at: clock.now(), with: value });
      call.then(record, record);
      return outcome;
    };
    /** Advances the time; each timer is followed by a turn of the event loop. */
    const pass = async (ms: number): Promise<void> => {
      for (let i = 0; i < ms; i += 1) {
        await clock.pass(1);
        clock.turn();
      }
      await clock.pass(0);
    };
    return { clock, here, there, late, settles, pass };
  };

  it('settles in time although a reader with a longer ttl joins, which needs another command', async () => {
    const { clock, here, late, settles, pass } = start();
    here.detours.acquire = late.detour;
    const calledAt = clock.now();
    const call = settles(here.acquire('k', { ...READ, wait: 0 }));
    await pass(100);
    void here.acquire('k', { ...READ, ttl: '1h', wait: '10s' });
    await pass(600);
    here.detours.acquire = never;
    late.arrive();
    await pass(800);
    expectUnavailableInTime(call, calledAt);
  });

  it('settles in time although the first caller leaves, and the next one needs another ttl', async () => {
    const { clock, here, late, settles, pass } = start();
    here.detours.acquire = late.detour;
    const leaving = new AbortController();
    const first = settles(here.acquire('k', { ttl: '1h', wait: '10s', signal: leaving.signal }));
    const calledAt = clock.now();
    const call = settles(here.acquire('k', { ttl: 2_000, wait: 0 }));
    await pass(100);
    leaving.abort();
    await pass(600);
    expect(first.with).toMatchObject({ code: 'LOCK_ABORTED' });
    here.detours.acquire = never;
    late.arrive();
    await pass(800);
    expectUnavailableInTime(call, calledAt);
  });

  it('gets a lease from an answer that arrived while the event loop was blocked', async () => {
    const { clock, here, late, settles } = start();
    here.detours.acquire = late.detour;
    const call = settles(here.acquire('k', { wait: 0 }));
    await clock.pass(0);
    clock.jump(MOST_LATE_MS + 10);
    await clock.pass(1);
    late.arrive();
    await clock.pass(0);
    clock.turn();
    await clock.pass(0);
    expect(call.with).toBeInstanceOf(LeaseHandle);
  });

  it('settles in time after the client of a waiting caller has left', async () => {
    const { clock, here, settles, pass } = start();
    here.detours.acquire = never;
    const client = new AbortController();
    const call = settles(here.acquire('k', { wait: '10s', endsWait: client.signal }));
    await pass(100);
    client.abort();
    const leftAt = clock.now();
    await pass(1_000);
    expectUnavailableInTime(call, leftAt);
  });

  it('gets the free lock from an answer that arrives after its wait', async () => {
    const { here, late, settles, pass } = start();
    here.detours.acquire = late.detour;
    const call = settles(here.acquire('k', { wait: 50 }));
    await pass(200);
    expect(call.with).toBeUndefined();
    late.arrive();
    await pass(1);
    expect(call.with).toBeInstanceOf(LeaseHandle);
  });

  it('gets the free lock from a late answer, also when its client left just before the end of its wait', async () => {
    const { here, late, settles, pass } = start();
    here.detours.acquire = late.detour;
    const client = new AbortController();
    const call = settles(here.acquire('k', { wait: 105, endsWait: client.signal }));
    await pass(100);
    client.abort();
    await pass(200);
    expect(call.with).toBeUndefined();
    late.arrive();
    await pass(1);
    expect(call.with).toBeInstanceOf(LeaseHandle);
  });

  describe('whose client leaves while its process renews the lease of earlier readers', () => {
    /** A reader that joins the lease, and whose client has left. The answer to the renewal is late. */
    async function joinAndLeave({ here, late, settles, pass }: ReturnType<typeof start>): Promise<Outcome> {
      await pass(1_500);
      here.detours.renew = late.detour;
      const client = new AbortController();
      const call = settles(here.acquire('k', { ...READ, wait: '10s', endsWait: client.signal }));
      await pass(20);
      client.abort();
      await pass(20);
      return call;
    }

    it('enters the lease', async () => {
      const made = start();
      await made.here.acquire('k', { ...READ, renew: false });
      const call = await joinAndLeave(made);
      made.late.arrive();
      await made.pass(1);
      expect(call.with).toBeInstanceOf(LeaseHandle);
    });

    it('gets LOCK_ABORTED if a writer waits', async () => {
      const made = start();
      await made.here.acquire('k', { ...READ, renew: false });
      made.settles(made.there.acquire('k', { kind: 'write', wait: '1h' }));
      expect(await joinAndLeave(made)).toMatchObject({ with: { code: 'LOCK_ABORTED' } });
    });
  });

  it('settles in time while the heartbeat that it shares with an earlier strict caller has no answer', async () => {
    const { clock, here, there, settles, pass } = start();
    await there.acquire('k', { ttl: '10m' });
    settles(here.acquire('k', { fair: 'strict', wait: '1h' }));
    await pass(1);
    const calledAt = clock.now();
    const call = settles(here.acquire('k', { fair: 'strict', wait: 2_000 }));
    await pass(1);
    here.detours.acquire = never;
    await pass(3_000);
    expectUnavailableInTime(call, calledAt + 2_000);
  });

  it('gets LOCK_WAIT_TIMEOUT when its process has got the lock after an outage', async () => {
    const clock = new ManualClock();
    const here = new ManualWorld(clock).process({}, 10, { random: () => 0.5 });
    const strict = (wait: number) => here.acquire('k', { fair: 'strict', wait });
    const held = await strict(0);
    const next = strict(20_000);
    await clock.pass(1);
    const last = strict(1_500).catch((error: unknown) => error);
    await clock.pass(1_000);
    strict(20_000).catch(() => undefined);
    let failures = 0;
    here.detours.acquire = () => {
      failures += 1;
      return Promise.reject(new LockStoreError('no answer', true));
    };
    while (failures === 0 && clock.now() < 10_000) await clock.pass(1);
    delete here.detours.acquire;
    await held.release();
    await clock.pass(0);
    expect((await next).isHeld()).toBe(true);
    await clock.pass(1_000);
    expect(await last).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
  });

  it('searches no other strict callers while Redis is away, when its attempt fails and when its wait is over', async () => {
    const searches = jest.spyOn(KeyState.prototype, 'longestQueued', 'get');
    const clock = new ManualClock();
    const here = new ManualWorld(clock).process({}, 100);
    const fails: (() => void)[] = [];
    here.detours.acquire = () =>
      new Promise((_, reject) => {
        fails.push(() => reject(new LockStoreError('no answer', true)));
      });
    const calls = Array.from({ length: 100 }, () => here.acquire('k', { fair: 'strict', wait: 500 }));
    const ended = Promise.allSettled(calls);
    await clock.pass(1);
    for (const fail of fails.splice(0)) fail();
    await clock.pass(400);
    expect(fails.length).toBe(100);
    await clock.pass(1_000);
    const outcomes = await ended;
    expect(outcomes).toHaveLength(100);
    expect(searches.mock.calls.length).toBeLessThan(10);
    searches.mockRestore();
  });

  it('keeps its limit when its client leaves after the wait', async () => {
    const { clock, here, settles, pass } = start();
    here.detours.acquire = never;
    const client = new AbortController();
    const calledAt = clock.now();
    const call = settles(here.acquire('k', { wait: 100, endsWait: client.signal }));
    await pass(500);
    client.abort();
    await pass(1_000);
    expectUnavailableInTime(call, calledAt + 100);
  });
});
