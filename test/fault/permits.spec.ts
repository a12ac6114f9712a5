import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import type { Hold } from './support/loops.js';
import { monotonicMs } from '../support/monotonic.js';
import { HOUR_MS, shiftedBy } from './support/shifted-clock.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const wait = '20s';
const PERMITS = 4;

interface Weighed extends Pick<Hold, 'entered' | 'left'> {
  readonly weight: number;
}

/** The most permits in use at once, by the monotonic clock. The sum can reach its maximum only when a holder enters. */
function mostInUse(holds: readonly Weighed[]): number {
  const inUse = (at: number): number =>
    holds.reduce((sum, { entered, left, weight }) => (entered <= at && at < left ? sum + weight : sum), 0);
  return Math.max(...holds.map(({ entered }) => inUse(entered)));
}

describe('A semaphore', () => {
  const world = useLockWorld();
  const permits = (weight = 1) => ({ kind: 'semaphore', permits: PERMITS, weight }) as const;
  const waiting = (key: string): Promise<number> => world.client.zcard(`sq1:{${PREFIX}${key}}`);

  it('never has more permits in use than it has, with broken connections and wrong clocks', async () => {
    const key = world.newKey();
    const proxy = await world.proxy();
    const processes = await Promise.all([
      world.process(),
      world.process(proxy.url, shiftedBy(HOUR_MS)),
      world.process(proxy.url, shiftedBy(-HOUR_MS)),
    ]);
    const plan = { key, forMs: 5_000, holdMs: 10, ttl: 500, wait: 2_000, aborts: 0.2 };
    const cutting = setInterval(() => proxy.cut(), 700);
    const weights = [1, 1, 1, 2, PERMITS];
    const fights = processes.flatMap((process) =>
      weights.map(async (weight) => {
        const { holds } = await process.do('fight', { ...plan, callers: 1, ...permits(weight) });
        return holds.map(({ entered, left }): Weighed => ({ entered, left, weight }));
      }),
    );
    const holds = await Promise.all(fights);
    clearInterval(cutting);
    expect(mostInUse(holds.flat())).toBe(PERMITS);
    for (const ofOne of holds) expect(ofOne.length).toBeGreaterThan(5);
    await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
  });

  it('gets the permits of a killed process back after its ttl, while another process holds one', async () => {
    const ttl = 2_000;
    const key = world.newKey();
    const [killed, staying, next] = await Promise.all([world.process(), world.process(), world.process()]);
    await killed.do('acquire', { key, ttl, ...permits(3) });
    const held = await staying.do('acquire', { key, ttl: 1_500, ...permits() });
    const behind = next.do('acquire', { key, wait, ...permits(3) });
    await eventually(async () => expect(await waiting(key)).toBe(1));
    await killed.kill('SIGKILL');
    const killedAt = monotonicMs();
    const served = await behind;
    expectBelow(served.at - killedAt, ttl + 1_000);
    expect(await staying.do('isHeld', held)).toMatchObject({ held: true });
    await next.do('release', served);
    await staying.do('release', held);
    expect(await world.keysOf(key)).toEqual([]);
  });

  it('serves the waiters behind a heavy waiter that was killed, while another process holds one', async () => {
    const key = world.newKey();
    const [staying, killed, next] = await Promise.all([world.process(), world.process(), world.process()]);
    const held = await staying.do('acquire', { key, ...permits() });
    killed.do('acquire', { key, wait, ...permits(PERMITS) }).catch(() => undefined);
    await eventually(async () => expect(await waiting(key)).toBe(1));
    const behind = next.do('acquire', { key, wait, ...permits() });
    await eventually(async () => expect(await waiting(key)).toBe(2));
    await killed.kill('SIGKILL');
    const killedAt = monotonicMs();
    const served = await behind;
    // Its place ends one claim window after its last heartbeat.
    expectBelow(served.at - killedAt, 2_500);
    expect(await staying.do('isHeld', held)).toMatchObject({ held: true });
    await next.do('release', served);
    await staying.do('release', held);
    expect(await world.keysOf(key)).toEqual([]);
  });
});
