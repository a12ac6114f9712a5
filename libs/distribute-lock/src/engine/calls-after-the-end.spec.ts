import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { ManualClock, settled } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import type { LeaseLostError } from '../errors.js';
import { resolveLockOptions } from '../options/lock-options.js';

const refusalOf = (call: Promise<unknown>): Promise<LeaseLostError> =>
  call.then(
    () => Promise.reject(new Error('not refused')),
    (error: unknown) => error as LeaseLostError,
  );

describe('A call of a lease whose time has passed before its timer fired', () => {
  it.each([
    [{}, 'blocked', 'the event loop was blocked, or the process stopped, for at least 401 ms'],
    [{ renew: false }, 'expired', 'its ttl of 300 ms has passed, and "renew" is false'],
    [{ maxHold: 200 }, 'maxHold', '"maxHold" (200 ms) has passed'],
  ] as const)('rejects with the reason of the event: options %j', async (given, reason, says) => {
    const clock = new ManualClock();
    const { engine, events } = new ManualWorld(clock).process();
    const options = resolveLockOptions({ ttl: 300, ...given });
    const callOf = (key: string) => ({ key, name: 'transfer', options, scoped: false });
    const one = await engine.acquire(callOf('a'));
    const several = await engine.acquire({ ...callOf('b'), key: ['b', 'c'] });
    await clock.pass(1);
    clock.jump(500);
    for (const lease of [one, several]) {
      for (const call of [() => lease.extend(), () => lease.downgrade()]) {
        const error = await refusalOf(call());
        expect(error).toMatchObject({ code: 'LEASE_LOST', reason });
        expect(error.message).toContain('The lease of "transfer" is lost');
        expect(error.message).toContain(says);
      }
      expect(lease.signal.reason).toMatchObject({ reason });
    }
    await clock.pass(1);
    expect(events.filter(({ type }) => type === 'lost').map((event) => event.reason)).toEqual([reason, reason, reason]);
  });

  it('rejects with "shutdown" after the shutdown has ended the lease, and with "released" after its release', async () => {
    const clock = new ManualClock();
    const { engine, acquire } = new ManualWorld(clock).process();
    const [ended, released] = [await acquire('a'), await acquire('b')];
    await released.release();
    expect(await refusalOf(released.extend())).toMatchObject({ reason: 'released' });
    void engine.drain(100);
    await clock.pass(200);
    expect(await refusalOf(ended.extend())).toMatchObject({ reason: 'shutdown' });
  });

  it.each(['exclusive', 'read'] as const)(
    'rejects with "shutdown" after the engine was closed and the event loop was blocked, kind %s',
    async (kind) => {
      const clock = new ManualClock();
      const { engine, acquire, events } = new ManualWorld(clock).process();
      const [extended, released] = [await acquire('a', { kind, ttl: 3_000 }), await acquire('b', { kind, ttl: 3_000 })];
      if (kind === 'read') await acquire('a', { kind, ttl: '1h' });
      await engine.close();
      clock.jump(3_000);
      expect(await refusalOf(extended.extend())).toMatchObject({ reason: 'shutdown' });
      await released.release();
      expect(events.filter(({ type }) => type === 'lost').map(({ reason }) => reason)).toEqual([
        'shutdown',
        'shutdown',
      ]);
    },
  );

  it('rejects with "maxHold" if an extension without renewal was limited by it', async () => {
    const clock = new ManualClock();
    const { acquire } = new ManualWorld(clock).process();
    const lease = await acquire('k', { ttl: 1_000, renew: false, maxHold: 60_000 });
    await lease.extend(120_000);
    await clock.pass(60_000);
    expect(lease.signal.reason).toMatchObject({ reason: 'maxHold' });
    expect(await refusalOf(lease.extend())).toMatchObject({ reason: 'maxHold' });
  });

  it('ends only that reader when the reply to its extension is late', async () => {
    const clock = new ManualClock();
    const { acquire, detours } = new ManualWorld(clock).process();
    const short = await acquire('k', { kind: 'read', ttl: 1_000, renew: false });
    const long = await acquire('k', { kind: 'read', ttl: 60_000 });
    let arrive: () => void = () => undefined;
    detours.renew = async (ask) => {
      const answer = await ask();
      await new Promise<void>((resolve) => (arrive = resolve));
      return answer;
    };
    const refused = refusalOf(short.extend(1_000));
    await clock.pass(900);
    clock.jump(100);
    arrive();
    expect(await refused).toMatchObject({ reason: 'expired' });
    expect(long.isHeld()).toBe(true);
  });
});

describe('A lease whose renewal was sent late', () => {
  it.each(['exclusive', 'read'] as const)(
    'is lost by the blocked event loop although its last timer fires in time, kind %s',
    async (kind) => {
      const clock = new ManualClock();
      const { acquire, detours } = new ManualWorld(clock).process();
      const lease = await acquire('k', { kind, ttl: 1_000 });
      detours.renew = () => new Promise(() => undefined);
      clock.jump(500);
      await clock.pass(1);
      clock.jump(480);
      await clock.pass(20);
      expect(lease.signal.reason).toMatchObject({
        reason: 'blocked',
        message: expect.stringMatching(/for at least 1[67]\d ms/),
      });
    },
  );

  it('is lost by the blocked event loop although the reply comes before its last timer', async () => {
    const clock = new ManualClock();
    const { acquire, detours } = new ManualWorld(clock).process();
    const late = new LateAnswers();
    const lease = await acquire('k', { ttl: 1_000 });
    detours.renew = late.detour;
    clock.jump(500);
    await clock.pass(1);
    clock.jump(495);
    late.arrive();
    await settled();
    expect(lease.signal.reason).toMatchObject({ reason: 'blocked' });
  });
});
