import { setTimeout as sleep } from 'node:timers/promises';

import type { LockProcess } from './support/lock-process.js';
import type { FightPlan, Hold } from './support/loops.js';
import { useLockWorld } from './support/use-lock-world.js';

const semaphore = (permits: number) => ({ kind: 'semaphore', permits }) as const;

/** The most holds at once, by the monotonic clock. */
function mostAtOnce(holds: readonly Hold[]): number {
  const inside = (at: number): number => holds.filter(({ entered, left }) => entered <= at && at < left).length;
  return Math.max(...holds.map(({ entered }) => inside(entered)));
}

describe('A rolling deploy', () => {
  const world = useLockWorld();
  const OVERLAP_MS = 1_500;

  /** Deploys again, for a longer time, while a busy machine serves at most `most` new callers beside the old ones. */
  async function deployUntil(most: number, before: Partial<FightPlan>, after: Partial<FightPlan>) {
    for (let overlapMs = OVERLAP_MS; ; overlapMs *= 2) {
      const deployed = await deploy(before, after, overlapMs);
      if (deployed.beside > most || overlapMs > 4 * OVERLAP_MS) return deployed;
    }
  }

  /** The old processes work, then the new one works beside them, and the old ones end. */
  async function deploy(before: Partial<FightPlan>, after: Partial<FightPlan>, overlapMs = OVERLAP_MS) {
    const [first, second, next] = await Promise.all([world.process(), world.process(), world.process()]);
    const plan = { key: world.newKey(), callers: 4, holdMs: 20, wait: '10s' } as const;
    const start = (process: LockProcess, forMs: number, options: Partial<FightPlan>) =>
      process.do('fight', { ...plan, forMs, ...options });
    const old = [first, second].map((process) => start(process, overlapMs + 300, before));
    await sleep(300);
    const runs = await Promise.all([...old, start(next, overlapMs + 500, after)]);
    const [one, two, served] = runs.map(({ holds }) => holds);
    const endOfOld = Math.max(...[...one, ...two].map(({ left }) => left));
    return {
      key: plan.key,
      old: [...one, ...two],
      served,
      beside: served.filter(({ entered }) => entered < endOfOld).length,
      refusals: Object.assign({}, ...runs.map(({ refusals }) => refusals)) as Record<string, number>,
    };
  }

  it.each([
    [3, 5],
    [5, 2],
  ])('from %i to %i permits serves new callers beside the old ones, within the larger limit', async (from, to) => {
    const { key, old, served, beside, refusals } = await deployUntil(50, semaphore(from), semaphore(to));
    expect(refusals).toEqual({});
    expect(beside).toBeGreaterThan(50);
    expect(mostAtOnce([...old, ...served])).toBeLessThanOrEqual(Math.max(from, to));
    expect(mostAtOnce(served)).toBeLessThanOrEqual(to);
    expect(await world.keysOf(key)).toEqual([]);
  });

  it('admits each caller within the number of permits that it knows', async () => {
    const [before, after] = [world.locks(), world.locks()];
    const key = world.newKey();
    const old = [await before.acquire(key, semaphore(3)), await before.acquire(key, semaphore(3))];
    const added = [await after.acquire(key, semaphore(5)), await after.acquire(key, semaphore(5))];
    await expect(before.acquire(key, semaphore(3))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    added.push(await after.acquire(key, semaphore(5)));
    await expect(after.acquire(key, semaphore(5))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    for (const lease of [...old, ...added]) await lease.release();
  });

  it.each([
    ['an exclusive lock to a semaphore', {}, semaphore(2)],
    ['a semaphore to an exclusive lock', semaphore(2), {}],
    ['a read lock to a semaphore', { kind: 'read' } as const, semaphore(2)],
  ])('from %s serves callers of both kinds, never at once', async (_, before, after) => {
    const calls = { callers: 1, holdMs: 10, gapMs: 40 };
    const { key, old, served, beside, refusals } = await deploy({ ...before, ...calls }, { ...after, ...calls });
    expect(refusals).toEqual({});
    expect(beside).toBeGreaterThan(3);
    const overlaps = old.flatMap((one) => served.filter((two) => one.entered < two.left && two.entered < one.left));
    expect(overlaps).toEqual([]);
    expect(await world.keysOf(key)).toEqual([]);
  });
});
