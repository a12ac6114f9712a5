import { eventually } from '../support/eventually.js';
import { monotonicMs } from '../support/monotonic.js';
import { stall } from './support/stall.js';
import { useLockWorld } from './support/use-lock-world.js';
import { fencingTokensRise, overlaps } from './support/witness.js';

describe('P1: two holders never run at once', () => {
  const world = useLockWorld();

  it('while three processes compete for one key, waits are aborted, and connections break and stall', async () => {
    const key = world.newKey();
    const proxy = await world.proxy();
    proxy.delay(3, 3);
    const [steady, ...troubled] = await Promise.all([
      world.process(),
      world.process(proxy.url),
      world.process(proxy.url),
    ]);
    const plan = { key, callers: 5, forMs: 6_000, holdMs: 10, ttl: 500, wait: 2_000, aborts: 0.3 };
    const faults = setInterval(() => (Math.random() < 0.7 ? proxy.cut() : void stall(proxy)), 500);
    const fights = await Promise.all([steady, ...troubled].map((process) => process.do('fight', plan)));
    clearInterval(faults);
    await proxy.resume();
    const holds = fights.flatMap((fight) => fight.holds);
    expect(overlaps(holds)).toEqual([]);
    expect(fencingTokensRise(holds)).toBe(true);
    // Each process must have held the lock many times.
    for (const fight of fights) expect(fight.holds.length).toBeGreaterThan(10);
  });

  it('when a grant whose reply arrives after its lease has ended finds another holder', async () => {
    const key = world.newKey();
    const proxy = await world.proxy();
    const far = world.locks(proxy.url);
    await far.engine.connect();
    // The delay is longer than the lease, but too short to count as an unresponsive network.
    proxy.delay(360);
    const late = expect(far.acquire(key, { ttl: 250 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await eventually(async () => expect(await world.owner(key)).not.toBeNull());
    const lease = await world.locks().acquire(key, { wait: 2_000 });
    await late;
    expect(lease.isHeld()).toBe(true);
    await lease.release();
  });

  it('when the message of an offer is read after the offer has ended, and another process holds the lock', async () => {
    const key = world.newKey();
    const [sleeper, near] = await Promise.all([world.process(), world.process()]);
    const gate = await near.do('acquire', { key });
    const behind = sleeper.do('acquire', { key, wait: 20_000 });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    sleeper.pause();
    await near.do('release', gate);
    const inside = await near.do('acquire', { key, wait: 10_000 });
    sleeper.resume();
    // The process has read the message once it is in the queue again.
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const leavingAt = monotonicMs();
    await near.do('release', inside);
    expect((await behind).at).toBeGreaterThan(leavingAt);
  });

  it('while every round trip takes longer than the ttl', async () => {
    const key = world.newKey();
    const proxy = await world.proxy();
    const [near, far] = await Promise.all([world.process(), world.process(proxy.url)]);
    proxy.delay(350);
    const plan = { key, callers: 2, forMs: 4_000, holdMs: 80, ttl: 500, wait: 2_000 };
    const fights = await Promise.all([near, far].map((process) => process.do('fight', plan)));
    expect(overlaps(fights.flatMap((fight) => fight.holds))).toEqual([]);
    expect(fights[0].holds.length).toBeGreaterThan(10);
  });

  it('when a local hand-over comes after the end of the lease', async () => {
    const key = world.newKey();
    const [sleeper, other] = await Promise.all([world.process(), world.process()]);
    const gate = await other.do('acquire', { key });
    const ask = { key, ttl: 500, wait: 20_000 };
    const [first, behind] = [sleeper.do('acquire', ask), sleeper.do('acquire', ask)];
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    await sleeper.do('resources', undefined); // both callers of the process wait now
    await other.do('release', gate);
    const inside = await first;
    // The blocked loop outlasts the lease, which another process gets; the release runs before any timer or message.
    const released = sleeper.do('blockAndRelease', { lease: inside.lease, ms: 1_500 });
    const elsewhere = await other.do('acquire', ask);
    await released;
    const leavingAt = monotonicMs();
    await other.do('release', elsewhere);
    expect((await behind).at).toBeGreaterThan(leavingAt);
  });
});
