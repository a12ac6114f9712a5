import { type INestApplicationContext, Injectable, Logger, type Type } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { CronJob, CronTime } from 'cron';
import { DistributeLock, lastTick, LockEvents, LockModule, LockService } from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';

const DAILY = '0 0 3 * * *';
const ran: string[] = [];
let work: () => Promise<void> = async () => undefined;

@Injectable()
class Named {
  @Cron(DAILY, { name: 'nightly', timeZone: 'UTC' })
  @DistributeLock({ key: 'nightly', once: 'tick', onContended: 'skip' })
  async run(): Promise<void> {
    ran.push('nightly');
    await work();
  }

  @Cron('0 * * * * *', { name: 'queued', timeZone: 'UTC' })
  @DistributeLock({ key: 'queued', once: 'tick', onContended: 'skip', wait: '20s' })
  async queue(): Promise<void> {
    ran.push('queued');
    await work();
  }
}

@Injectable()
class Unnamed {
  @DistributeLock({ key: 'first', once: 'tick', onContended: 'skip' })
  @Cron(DAILY, { timeZone: 'UTC' })
  async first(): Promise<void> {
    ran.push('first');
  }

  @DistributeLock({ key: 'second', once: 'tick', onContended: 'skip' })
  @Cron(DAILY, { timeZone: 'UTC' })
  async second(): Promise<void> {
    ran.push('second');
  }
}

/** The timer of the job fires: `cron` sets the date, and then calls back. */
async function fire(job: CronJob, at: string): Promise<void> {
  (job as unknown as { lastExecution: Date }).lastExecution = new Date(at);
  await job.fireOnTick();
}

describe('once: tick', () => {
  const redis = useRedis();
  const apps: INestApplicationContext[] = [];
  let prefix = redis.prefix;
  const outcomes: string[] = [];

  async function start(...jobs: Type[]): Promise<INestApplicationContext> {
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: redis.url, prefix }), ScheduleModule.forRoot()],
      providers: jobs,
    }).compile();
    module.useLogger(false);
    module.get(LockEvents).listen(({ type, name }) => void outcomes.push(`${type} ${name}`));
    const app = await module.init();
    apps.push(app);
    // Only the tests fire the jobs, whatever the time of day is.
    for (const job of app.get(SchedulerRegistry).getCronJobs().values()) await job.stop();
    return app;
  }
  const jobOf = (app: INestApplicationContext, name: string): CronJob => app.get(SchedulerRegistry).getCronJob(name);

  beforeEach(() => {
    prefix = `${redis.prefix}${String(Math.random()).slice(2)}:`;
    ran.length = 0;
    outcomes.length = 0;
    work = async () => undefined;
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  it('runs a tick on the first of three instances only, and the next tick on any', async () => {
    const all = [await start(Named), await start(Named), await start(Named)];
    await fire(jobOf(all[0], 'nightly'), '2026-05-05T03:00:00.004Z');
    await eventually(() => expect(outcomes).toContain('released Named.run'));
    await fire(jobOf(all[1], 'nightly'), '2026-05-05T03:00:02.000Z');
    await eventually(() => expect(outcomes.filter((text) => text === 'released Named.run')).toHaveLength(2));
    await fire(jobOf(all[2], 'nightly'), '2026-05-05T04:30:00.000Z');
    await eventually(() => expect(outcomes.filter((text) => text === 'contended Named.run tick')).toHaveLength(2));
    expect(ran).toEqual(['nightly']);
    await fire(jobOf(all[2], 'nightly'), '2026-05-06T03:00:00.001Z');
    await eventually(() => expect(ran).toEqual(['nightly', 'nightly']));
  });

  it('runs calls by hand under the lock alone', async () => {
    const app = await start(Named);
    await fire(jobOf(app, 'nightly'), '2026-05-05T03:00:00.004Z');
    await eventually(() => expect(ran).toHaveLength(1));
    await eventually(() =>
      app
        .get(Named)
        .run()
        .then(() => expect(ran).toHaveLength(2)),
    );
    await eventually(async () => {
      await jobOf(app, 'nightly').fireOnTick();
      expect(ran.length).toBeGreaterThan(2);
    });
  });

  it('keeps two unnamed jobs with an equal schedule apart', async () => {
    const [one, other] = [await start(Unnamed), await start(Unnamed)];
    for (const app of [one, other]) {
      for (const job of app.get(SchedulerRegistry).getCronJobs().values()) {
        await fire(job, '2026-05-05T03:00:00.004Z');
      }
    }
    await eventually(() => expect(outcomes.filter((text) => text.startsWith('contended'))).toHaveLength(2));
    await eventually(() => expect(ran.toSorted()).toEqual(['first', 'second']));
  });

  it('finds a job that was renamed at run time by its schedule', async () => {
    const [one, other] = [await start(Named), await start(Named)];
    const registry = one.get(SchedulerRegistry);
    const job = registry.getCronJob('nightly');
    registry.deleteCronJob('nightly');
    registry.addCronJob('renamed', job);
    await fire(jobOf(one, 'renamed'), '2026-05-05T03:00:00.004Z');
    await eventually(() => expect(outcomes).toContain('released Named.run'));
    await fire(jobOf(other, 'nightly'), '2026-05-05T03:00:00.005Z');
    await eventually(() => expect(outcomes).toContain('contended Named.run tick'));
    expect(ran).toEqual(['nightly']);
  });

  it('does not run when SchedulerRegistry has no job with the name or the schedule', async () => {
    const app = await start(Named);
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const job = jobOf(app, 'nightly');
    app.get(SchedulerRegistry).deleteCronJob('nightly');
    await fire(job, '2026-05-05T03:00:00.004Z');
    await eventually(() =>
      expect(errors).toHaveBeenCalledWith(
        expect.objectContaining({ message: expect.stringContaining('Give the job a') }),
      ),
    );
    expect(ran).toEqual([]);
  });

  it('uses the new schedule of a job that was changed at run time', async () => {
    const [one, other] = [await start(Named), await start(Named)];
    for (const app of [one, other]) jobOf(app, 'nightly').setTime(new CronTime('0 0 * * * *', 'UTC'));
    await fire(jobOf(one, 'nightly'), '2026-05-05T03:00:00.004Z');
    await eventually(() => expect(ran).toHaveLength(1));
    await fire(jobOf(other, 'nightly'), '2026-05-05T04:00:00.004Z');
    await eventually(() => expect(ran).toHaveLength(2));
  });

  it('does not repeat ticks when the clock of a host steps back by an hour', async () => {
    const app = await start(Named);
    const job = jobOf(app, 'queued');
    await fire(job, '2026-05-05T03:00:00.004Z');
    await eventually(() => expect(ran).toHaveLength(1));
    await redis.client.unlink(...(await redis.keys()).filter((key) => key.startsWith(prefix))); // the markers have ended
    await fire(job, '2026-05-05T02:00:00.004Z');
    await fire(job, '2026-05-05T03:00:00.004Z');
    await fire(job, '2026-05-05T03:01:00.004Z');
    await eventually(() => expect(ran).toHaveLength(2));
    expect(outcomes.filter((text) => text === 'contended Named.queue tick')).toHaveLength(2);
  });

  it('marks the tick for its interval and ten minutes, and logs a claimed tick at level debug', async () => {
    const debug = jest.spyOn(Logger.prototype, 'debug').mockImplementation(() => undefined);
    const [one, other] = [await start(Named), await start(Named)];
    await fire(jobOf(one, 'queued'), '2026-05-05T03:00:00.004Z');
    await eventually(() => expect(outcomes).toContain('released Named.queue'));
    const leftMs = await redis.client.pttl(`${prefix}queued:tick:2026-05-05T03:00:00.000Z`);
    expect(leftMs).toBeLessThanOrEqual(660_000);
    expect(leftMs).toBeGreaterThan(600_000);
    await fire(jobOf(other, 'queued'), '2026-05-05T03:00:00.004Z');
    await eventually(() => expect(debug).toHaveBeenCalledWith('Named.queue tick: another caller holds the lock'));
    expect(ran).toHaveLength(1);
  });

  it('skips a tick while the job still runs, without wait', async () => {
    const [one, other] = [await start(Named), await start(Named)];
    let end: () => void = () => undefined;
    work = () => new Promise((resolve) => (end = resolve));
    await fire(jobOf(one, 'nightly'), '2026-05-05T03:00:00.004Z');
    await eventually(() => expect(ran).toHaveLength(1));
    await fire(jobOf(one, 'nightly'), '2026-05-06T03:00:00.004Z');
    await fire(jobOf(other, 'nightly'), '2026-05-06T03:00:00.004Z');
    await eventually(() => expect(outcomes.filter((text) => text === 'contended Named.run')).toHaveLength(2));
    end();
    await eventually(() => expect(outcomes).toContain('released Named.run'));
    await fire(jobOf(other, 'nightly'), '2026-05-07T03:00:00.004Z');
    await eventually(() => expect(ran).toHaveLength(2));
    end();
  });

  it('queues a tick behind a long run with wait, and loses the tick of a run that failed', async () => {
    const [one, other] = [await start(Named), await start(Named)];
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    let fail: (error: Error) => void = () => undefined;
    work = () => new Promise((_, reject) => (fail = reject));
    await fire(jobOf(one, 'queued'), '2026-05-05T03:00:00.004Z');
    await eventually(() => expect(ran).toHaveLength(1));
    work = async () => undefined;
    await fire(jobOf(other, 'queued'), '2026-05-05T03:00:00.004Z');
    await fire(jobOf(other, 'queued'), '2026-05-05T03:01:00.004Z');
    fail(new Error('as in a crash'));
    await eventually(() => expect(outcomes).toContain('contended Named.queue tick'));
    await eventually(() => expect(ran).toHaveLength(2));
  });

  it('runs work once for an instant with onceAt, for jobs of SchedulerRegistry and other schedulers', async () => {
    const [one, other] = [(await start()).get(LockService), (await start()).get(LockService)];
    const job = new CronJob(DAILY, () => undefined, null, false, 'UTC');
    (job as unknown as { lastExecution: Date }).lastExecution = new Date('2026-05-05T03:00:00.004Z');
    const tick = lastTick(job)!;
    expect(await one.onceAt('report:1', tick, () => 'sent')).toBe('sent');
    expect(await other.onceAt('report:1', tick, () => 'sent')).toBeUndefined();
    expect(await other.onceAt('report:1', tick.instant, { wait: '1s' }, () => 'sent')).toBeUndefined();
    expect(await other.onceAt('report:2', tick, () => 'sent')).toBe('sent');
    const failure = one.onceAt('report:3', tick, () => Promise.reject(new Error('no paper')));
    await expect(failure).rejects.toThrow('no paper');
    await expect(one.onceAt('report:3', new Date(Number.NaN), () => 'sent')).rejects.toThrow('must be a valid Date');
  });

  const decorated = (options: object, schedule: MethodDecorator | undefined, defaults = {}) => {
    class Job {
      async run(): Promise<void> {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Job.prototype, 'run')!;
    (DistributeLock({ key: 'a', once: 'tick', ...options } as { key: string }) as MethodDecorator)(
      Job.prototype,
      'run',
      descriptor,
    );
    schedule?.(Job.prototype, 'run', descriptor);
    Object.defineProperty(Job.prototype, 'run', descriptor);
    return Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: 'memory', defaults }), ScheduleModule.forRoot()],
      providers: [Job],
    }).compile();
  };
  const cron = Cron(DAILY, { timeZone: 'UTC' });

  it.each([
    ['a method without @Cron', {}, undefined, {}, 'a method without @Cron'],
    ['@Interval', {}, Interval(1_000), {}, '"minHold" for @Interval'],
    ['minHold', { minHold: '1s' }, cron, {}, '"minHold"'],
    ['minHold of the module', {}, cron, { minHold: '1s' }, '"minHold"'],
    ['release', { release: 'expire' }, cron, {}, '"release"'],
    ['reentrant', { reentrant: true }, cron, {}, '"reentrant"'],
  ] as const)('prevents the start with %s', async (_, options, schedule, defaults, message) => {
    const module = await decorated(options, schedule, defaults);
    await expect(module.init()).rejects.toThrow(message);
  });

  it('warns of a schedule without a time zone', async () => {
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    apps.push(await (await decorated({}, Cron(DAILY))).init());
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('has no "timeZone"'));
  });
});
