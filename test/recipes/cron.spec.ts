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

  /** The timers of the job fire on these instances. */
  async function fire(name: string, at: string, ...apps: INestApplicationContext[]): Promise<void> {
    for (const app of apps) {
      const job = app.get(SchedulerRegistry).getCronJob(name);
      (job as unknown as { lastExecution: Date }).lastExecution = new Date(at);
      void job.fireOnTick();
    }
  }

  it('runs on one of two instances that fire at once', async () => {
    await fire('nightly', '2026-05-05T01:00:00.003Z', instances[0], instances[1]);
    await eventually(() => expect(reports.sent).toBe(1));
  });

  it('does not run again on an instance whose clock is late', async () => {
    await eventually(() => expect(outcomes.filter((type) => type === 'released').length).toBeGreaterThan(0));
    await fire('nightly', '2026-05-05T01:00:00.003Z', instances[2]);
    await eventually(() => expect(outcomes).toContain('contended'));
    expect(reports.sent).toBe(1);
  });

  it('runs again at the next time', async () => {
    await fire('nightly', '2026-05-06T01:00:00.003Z', instances[2]);
    await eventually(() => expect(reports.sent).toBe(2));
  });

  it('runs once when it was added to the registry by code', async () => {
    for (const app of instances) app.get(TenantJobsService).schedule('acme', '0 3 * * *');
    await fire('report-acme', '2026-05-05T01:00:00.003Z', ...instances);
    await eventually(() => expect(reports.sent).toBe(3));
    await fire('report-acme', '2026-05-06T01:00:00.003Z', ...instances);
    await eventually(() => expect(reports.sent).toBe(4));
  });
});
