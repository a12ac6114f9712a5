import { setTimeout as sleep } from 'node:timers/promises';

import cron from 'node-cron';
import { createLocks } from 'nestjs-distribute-lock/core';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { coordinatorOf, scheduleReports } from './cron/node-cron.js';

describe('recipe: node-cron in several processes', () => {
  const redis = useRedis();

  /** Three processes with the task; returns the names of the times that ran. */
  async function run(name: string, work: (time: string) => Promise<unknown>): Promise<void> {
    for (let process = 0; process < 3; process += 1) {
      const locks = await createLocks({ connection: redis.url, prefix: redis.prefix });
      const task = cron.schedule('* * * * * *', ({ dateLocalIso }) => work(dateLocalIso), {
        name,
        distributed: true,
        runCoordinator: coordinatorOf(locks),
        // A busy machine may be late by more; a time that is skipped as late would not show anything.
        missedExecutionTolerance: 30_000,
      });
      onCleanup(async () => {
        await task.destroy();
        await locks.close();
      });
    }
  }

  it('runs each time once', async () => {
    const times: string[] = [];
    await run('report', async (time) => times.push(time));
    await eventually(() => expect(times.length).toBeGreaterThanOrEqual(4), 30_000);
    expect(new Set(times).size).toBe(times.length);
  }, 40_000);

  it('schedules a task of each process under one name', async () => {
    const locks = await createLocks({ connection: redis.url, prefix: redis.prefix });
    onCleanup(() => locks.close());
    const task = scheduleReports(locks, () => Promise.resolve());
    expect(task.name).toBe('reports');
    await task.destroy();
  });

  it('does not run beside an earlier run', async () => {
    let [running, most, runs] = [0, 0, 0];
    await run('long', async () => {
      runs += 1;
      most = Math.max(most, (running += 1));
      await sleep(2_500);
      running -= 1;
    });
    await eventually(() => expect(runs).toBeGreaterThanOrEqual(2), 30_000);
    expect(most).toBe(1);
  }, 40_000);
});
