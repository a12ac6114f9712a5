import type { INestApplicationContext } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { LockEvents, LockModule } from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { Reports } from './cron/reports.js';
import { ReportsService } from './cron/reports.service.js';
import { TenantJobsService } from './cron/tenant-jobs.service.js';

describe('recipe: a cron job once per cluster', () => {
  const redis = useRedis();
  const reports = new Reports();
  const instances: INestApplicationContext[] = [];
  const outcomes: string[] = [];

  beforeAll(async () => {
    for (let instance = 1; instance <= 3; instance += 1) {
      const module = await Test.createTestingModule({
        imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix }), ScheduleModule.forRoot()],
        providers: [ReportsService, TenantJobsService, { provide: Reports, useValue: reports }],
      }).compile();
      module.get(LockEvents).listen(({ type }) => void outcomes.push(type), 'released', 'contended');
      instances.push(await module.init());
    }
  });

  afterAll(() => Promise.all(instances.map((app) => app.close())));

  /** Fires the job on all instances and waits until it has ended. */
  async function tick(...apps: INestApplicationContext[]): Promise<string[]> {
    return fire('nightly', ...apps);
  }

  async function fire(job: string, ...apps: INestApplicationContext[]): Promise<string[]> {
    outcomes.length = 0;
    for (const app of apps) void app.get(SchedulerRegistry).getCronJob(job).fireOnTick();
    await eventually(() => expect(outcomes).toHaveLength(apps.length));
    return outcomes.toSorted();
  }

  it('runs on one of three instances that fire at once', async () => {
    expect(await tick(...instances)).toEqual(['contended', 'contended', 'released']);
    expect(reports.sent).toBe(1);
  });

  it('does not run again on an instance whose clock is late', async () => {
    expect(await tick(instances[2])).toEqual(['contended']);
    expect(reports.sent).toBe(1);
    expect(await redis.client.pttl(`${redis.prefix}nightly-report`)).toBeGreaterThan(15_000);
  });

  it('runs again at the next time', async () => {
    await redis.client.del(`${redis.prefix}nightly-report`); // the minute is over
    expect(await tick(instances[2])).toEqual(['released']);
    expect(reports.sent).toBe(2);
  });

  it('runs once when it was added to the registry by code', async () => {
    for (const app of instances) app.get(TenantJobsService).schedule('acme', '0 3 * * *');
    expect(await fire('report-acme', ...instances)).toEqual(['contended', 'contended', 'released']);
    expect(reports.sent).toBe(3);
  });
});
