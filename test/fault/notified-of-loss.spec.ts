import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { PREFIX } from './support/lock-engine.js';
import type { Granted, LockProcess } from './support/lock-process.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

/** One turn of the event loop and one message on a busy machine. */
const SLACK_MS = 250;

describe('P2: a holder that cannot renew is notified before its lease can end in Redis', () => {
  const world = useLockWorld();
  // The safety margin is 1 % of the ttl; a timer on a busy machine must not be later than that.
  const ttl = 6_000;

  async function holder(fault: 'hold' | 'cut'): Promise<{ endsAt: number; loss: { at: number; held: boolean } }> {
    const proxy = await world.proxy();
    // A late reply must not lengthen the lease: its end counts from the time the command was sent.
    proxy.delay(100);
    const process = await world.process(proxy.url);
    const key = world.newKey();
    const { lease } = await process.do('acquire', { key, ttl });
    const loss = process.do('loss', { lease });
    await renewed(key, ttl);
    if (fault === 'hold') proxy.hold('toServer');
    else {
      proxy.goDown();
    }
    const endsAt = monotonicMs() + (await world.client.pttl(PREFIX + key));
    return { endsAt, loss: await loss };
  }

  /** Waits until the watchdog has renewed the lease once. */
  async function renewed(key: string, ttlMs: number): Promise<void> {
    let left = await world.client.pttl(PREFIX + key);
    await eventually(async () => {
      const now = await world.client.pttl(PREFIX + key);
      const rose = now > left;
      left = now;
      expect(rose).toBe(true);
    }, ttlMs);
  }

  it('when nothing passes and nothing closes, and when connections break and none is accepted', async () => {
    const [mute, broken] = await Promise.all([holder('hold'), holder('cut')]);
    for (const { endsAt, loss } of [mute, broken]) {
      expect(loss).toMatchObject({ held: false, reason: 'LEASE_LOST' });
      expectBelow(loss.at - endsAt, 0);
    }
  });
});

describe('P3: a holder that was stopped or blocked is notified as soon as its event loop turns', () => {
  const world = useLockWorld();
  const ttl = 1_000;
  const stoodStillMs = 1_500;

  it('after SIGSTOP and SIGCONT, on a network that stopped responding in between', async () => {
    const proxy = await world.proxy();
    const process = await world.process(proxy.url);
    const { lease } = await process.do('acquire', { key: world.newKey(), ttl });
    const loss = process.do('loss', { lease });
    const firstLook = process.do('afterStandstill', { lease, ms: ttl });
    await process.do('isHeld', { lease }); // the process has executed both commands above by now
    process.pause();
    proxy.hold();
    await new Promise((resolve) => setTimeout(resolve, stoodStillMs));
    const resumedAt = monotonicMs();
    process.resume();
    expect(await firstLook).toMatchObject({ held: false });
    expectBelow((await loss).at - resumedAt, SLACK_MS);
  });

  it('after a blocked event loop, and isHeld() is right before it turns', async () => {
    const process = await world.process();
    const { lease } = await process.do('acquire', { key: world.newKey(), ttl });
    const loss = process.do('loss', { lease });
    const blocked = await process.do('block', { lease, ms: stoodStillMs });
    expect(blocked.held).toBe(false);
    expectBelow((await loss).at - blocked.at, SLACK_MS);
  });

  it.each(['end', 'expire'] as const)('also when the work ends in that turn (release: %s)', async (release) => {
    const locks = world.locks();
    const key = world.newKey();
    const work = new LockService(() => locks.engine).withLock(key, { ttl: 300, onLost: 'throw', release }, () => {
      const until = monotonicMs() + 500;
      while (monotonicMs() < until);
      return 'made without the lock';
    });
    await expect(work).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(locks.events.map(({ type }) => type)).toEqual(['acquired', 'lost']);
    await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
  });

  it('keeps a lease that ends after the pause', async () => {
    const process = await world.process();
    const { lease } = await process.do('acquire', { key: world.newKey(), ttl: 10_000 });
    expect((await process.do('block', { lease, ms: stoodStillMs })).held).toBe(true);
    expect((await process.do('isHeld', { lease })).held).toBe(true);
  });
});

describe('P4: after data loss the old holder is notified with its next renewal', () => {
  const ttl = 3_000;
  const world = useLockWorld();
  let process: LockProcess;
  beforeAll(async () => {
    process = await world.process();
  });
  const take = (): Promise<Granted> => process.do('acquire', { key: world.newKey(), ttl });

  const losses: Record<string, (granted: Granted, key: string) => Promise<unknown>> = {
    'the key was deleted by hand': (_, key) => world.client.del(PREFIX + key),
    FLUSHALL: () => world.client.flushall(),
    'another client wrote the key': (_, key) => world.client.set(PREFIX + key, 'somebody', 'PX', 60_000),
    'Redis was restarted empty': () => world.server.restart(),
  };
  it.each(Object.entries(losses))('when %s', async (_, lose) => {
    const key = world.newKey();
    const granted = await process.do('acquire', { key, ttl });
    await lose(granted, key);
    const lostAt = monotonicMs();
    const loss = await process.do('loss', granted);
    expect(loss).toMatchObject({ held: false, reason: 'LEASE_LOST' });
    expectBelow(loss.at - lostAt, ttl / 3 + SLACK_MS);
  });

  it('keeps its lease when Redis comes back with its data', async () => {
    const granted = await take();
    await world.server.restart({ empty: false });
    await eventually(async () => expect((await process.do('isHeld', granted)).held).toBe(true));
    const renewedLater = await eventually(async () => {
      const { at, held } = await process.do('isHeld', granted);
      expect(at - granted.at).toBeGreaterThan(ttl);
      return held;
    });
    expect(renewedLater).toBe(true);
    await process.do('release', granted);
  });
});
