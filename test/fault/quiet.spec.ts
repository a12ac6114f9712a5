import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { useLockWorld } from './support/use-lock-world.js';

const wait = '20s';

// useLockWorld() checks after each test that no process threw or warned outside a promise.
describe('P14: no error and no warning occurs outside the promises of the callers', () => {
  const world = useLockWorld();

  it('when 500 callers share one signal, and it aborts', async () => {
    const process = await world.process();
    const key = world.newKey();
    const holder = await process.do('acquire', { key });
    const crowd = process.do('crowd', { key, callers: 500, wait, abort: 'shared' });
    await process.do('abort', { abort: 'shared' });
    const { codes, slowestMs } = await crowd;
    expect(codes).toEqual({ LOCK_ABORTED: 500 });
    expectBelow(slowestMs, 100);
    await process.do('release', holder);
    expect(await world.keysOf(key)).toEqual([]);
  });

  it('when a connection breaks while it subscribes again, and stays unavailable for some time', async () => {
    const proxy = await world.proxy();
    const [process, other] = await Promise.all([world.process(proxy.url), world.process()]);
    const key = world.newKey();
    const held = await other.do('acquire', { key });
    const waiting = process.do('acquire', { key, wait });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const broken = proxy.swallowNextReply(/^subscribe /i);
    proxy.cut();
    await broken;
    proxy.refuse();
    await sleep(1_000);
    await proxy.resume();
    await other.do('release', held);
    await process.do('release', await waiting);
  });

  it('when the network comes and goes, the server restarts empty, and at the end all connections close', async () => {
    const proxy = await world.proxy();
    const [process, other] = await Promise.all([world.process(proxy.url), world.process(proxy.url)]);
    const plan = { key: world.newKey(), callers: 20, forMs: 6_000, holdMs: 5, ttl: 300, wait: 500, aborts: 0.5 };
    const fights = Promise.all([process, other].map((one) => one.do('fight', plan)));
    const faults: (() => unknown)[] = [
      () => proxy.cut(),
      () => proxy.hold('toServer'),
      () => proxy.hold('toClient'),
      () => world.client.flushall(),
      () => world.server.restart(),
      () => proxy.refuse(),
    ];
    for (const fault of faults) {
      await fault();
      await sleep(1_000); // longer than the time limit of a command
      await proxy.resume();
    }
    await fights;
    proxy.hold(); // commands in flight at the end never get a reply
    await process.do('resources', undefined);
    void process.do('shutDownOnSigterm', { drainTimeoutMs: 500 });
    await process.do('resources', undefined);
    globalThis.process.kill(process.pid, 'SIGTERM');
    expect(await process.exited).toEqual({ code: 0, signal: null });
    expect(process.output).toBe('');
  });
});

describe('500 waiters aborted at random', () => {
  const world = useLockWorld();

  it('are rejected within 100 ms, and leave no key in Redis, no listener and no timer', async () => {
    const [holding, process] = await Promise.all([world.process(), world.process()]);
    const [key, warmUp] = [world.newKey(), world.newKey()];
    // opens the connections and the subscription, which stay open
    await process.do('release', await process.do('acquire', { key: warmUp, wait }));
    const before = await process.do('resources', undefined);
    const holder = await holding.do('acquire', { key, ttl: '30s' });
    const { codes, slowestMs, listeners } = await process.do('crowd', {
      key,
      callers: 500,
      wait,
      abortEachWithinMs: 1_000,
    });
    expect(codes).toEqual({ LOCK_ABORTED: 500 });
    expectBelow(slowestMs, 100);
    expect(listeners).toBe(0);
    await eventually(async () => expect(await world.waiting(key)).toBe(0));
    await eventually(async () => expect(await process.do('resources', undefined)).toEqual(before));
    await holding.do('release', holder);
    expect(await world.keysOf(key)).toEqual([]);
  });
});
