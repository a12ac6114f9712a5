import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { overlaps } from './support/witness.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

/** The longest wait of services that take the same keys: much longer than the work, much shorter than a deadlock. */
const WAIT_MS = 8_000;

describe('Several keys', () => {
  const world = useLockWorld();

  it('taken by four processes in opposite order, beside callers of one key, never wait for each other in a circle', async () => {
    const [a, b, c] = [world.newKey(), world.newKey(), world.newKey()];
    const processes = await Promise.all([1, 2, 3, 4].map(() => world.process()));
    const orders = [
      [a, b],
      [b, a],
      [a, b, c],
      [c, b],
    ];
    const plan = { callers: 3, forMs: 10_000, leastHolds: 21, holdMs: 3, ttl: '5s', wait: WAIT_MS } as const;
    const singles = processes[0].do('fight', { ...plan, key: a, callers: 1 });
    const fights = await Promise.all(processes.map((process, i) => process.do('fight', { ...plan, key: orders[i] })));
    const alone = await singles;

    // All of them take b, so no two may hold it at once.
    expect(overlaps(fights.flatMap(({ holds }) => holds))).toEqual([]);
    for (const { holds, refusals } of [...fights, alone]) {
      expect(refusals).toEqual({});
      expect(holds.length).toBeGreaterThan(20);
    }
    const [first, second, third] = fights;
    expect(overlaps([first, second, third, alone].flatMap(({ holds }) => holds))).toEqual([]);
    for (const key of [a, b, c]) await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
  });

  it('are free one ttl after the process that waited for more of them was killed', async () => {
    const [a, b] = [world.newKey(), world.newKey()];
    const locks = world.locks();
    const held = await locks.acquire(b);
    const waiter = await world.process();
    void waiter.do('acquireMultiKey', { keys: [a, b], ttl: 1_000, wait: '1m' });
    await eventually(async () => expect(await world.waiting(b)).toBe(1));
    await waiter.kill('SIGKILL');
    const killedAt = performance.now();
    const lease = await locks.acquire(a, { wait: '10s' });
    expect(performance.now() - killedAt).toBeLessThan(2_000);
    await lease.release();
    await held.release();
    await (await locks.acquire(b, { wait: '5s' })).release();
  });

  it('leave no key behind when the reply was lost and another owner takes one of them', async () => {
    const [a, b] = [world.newKey(), world.newKey()];
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    // One command takes several keys only when the layout is known, and the lost reply must not be NOSCRIPT.
    await locks.engine.connect();
    await (await locks.acquireMultiKey([world.newKey(), world.newKey()])).release();
    const lost = proxy.swallowNextReply(new RegExp(a));
    const refused = expect(locks.acquireMultiKey([a, b], { ttl: '60s' })).rejects.toMatchObject({
      code: 'LOCK_CONTENDED',
    });
    await lost;
    await world.client.set(PREFIX + a, 'somebody', 'PX', 60_000);
    await refused;
    await eventually(async () => expect(await world.keysOf(b)).toEqual([]));
  });

  it('are released by a process that loses its connection while it waits for more of them', async () => {
    const [a, b] = [world.newKey(), world.newKey()];
    const proxy = await world.proxy();
    const locks = world.locks();
    const held = await locks.acquire(b);
    const far = world.locks(proxy.url);
    const waiting = far.acquireMultiKey([a, b], { ttl: 1_500, wait: '20s' });
    await eventually(async () => expect(await world.waiting(b)).toBe(1));
    // The hold lasts until the first key is lost; then the call starts again.
    proxy.hold();
    await eventually(async () => expect(await world.owner(a)).toBeNull());
    const between = await locks.acquire(a);
    await proxy.resume();
    await between.release();
    await held.release();
    const lease = await waiting;
    expect(lease.isHeld()).toBe(true);
    expect(lease.fencingTokens.get(a)).toBeGreaterThan(between.fencingToken);
    await lease.release();
    for (const key of [a, b]) await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
  });

  it('are refused within a second by a slow server, for callers with wait 0, and leave no key behind', async () => {
    const keys = Array.from({ length: 5 }, () => world.newKey());
    const proxy = await world.proxy();
    const far = world.locks(proxy.url);
    await (await far.acquire(world.newKey())).release();
    proxy.delay(150);
    const calledAt = performance.now();
    // Read locks are acquired one after the other: five replies would take 1.5 s.
    await expect(far.acquireMultiKey(keys, { kind: 'read' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expectBelow(performance.now() - calledAt, 1_000);
    for (const key of keys) await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
  });
});
