import { type INestApplicationContext, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import { DistributeLock, type LockAcquireMessage, lockChannels, LockModule, LockService } from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { RecordingLogger } from './support/recording-logger.js';

@Injectable()
class Jobs {
  runs = 0;

  @Interval(50)
  @DistributeLock({ key: 'often', onContended: 'skip' })
  async often(): Promise<void> {
    this.runs += 1;
  }

  @Cron('* * * * * *')
  @DistributeLock({ key: 'each-second', onContended: 'skip', minHold: '100ms' })
  async eachSecond(): Promise<void> {}
}

describe('The log of the start', () => {
  it('has the name of this process that inspect shows', async () => {
    const logger = new RecordingLogger();
    @Module({ imports: [LockModule.forRoot({ connection: 'memory' })] })
    class App {}
    const app = await NestFactory.createApplicationContext(App, { logger });
    const lease = await app.get(LockService).acquire('a');
    const { holders } = await app.get(LockService).inspect('a');
    expect(logger.about('LockService.inspect')).toEqual([
      ['log', `The name of this process in LockService.inspect is "${holders[0].process}" on "connection".`],
    ]);
    await lease.release();
    await app.close();
  });
});

describe('The log of an outage', () => {
  let app: INestApplicationContext;

  afterEach(() => app.close());

  async function start(connection: string, logger: RecordingLogger): Promise<void> {
    @Module({ imports: [LockModule.forRoot({ connection }), ScheduleModule.forRoot()], providers: [Jobs] })
    class App {}
    app = await NestFactory.createApplicationContext(App, { logger });
  }

  it('has one line for each job, and its caller still gets the error', async () => {
    const server = await startRedisServer();
    const logger = new RecordingLogger();
    await start(server.url, logger);
    const jobs = app.get(Jobs);
    await eventually(() => expect(jobs.runs).toBeGreaterThan(0));
    const failures = new Map<string, string>();
    const ended = (message: unknown): void => {
      const { name, error } = message as LockAcquireMessage;
      if (error !== undefined && !failures.has(name)) failures.set(name, error.message);
    };
    lockChannels.acquire.asyncEnd.subscribe(ended);
    await server.kill();
    const about = (job: string) => logger.lines.filter(([level, text]) => level !== 'debug' && text.includes(job));
    await eventually(() => {
      expect(about('Jobs.often')).not.toEqual([]);
      expect(about('Jobs.eachSecond')).not.toEqual([]);
    }, 10_000);
    await expect(jobs.often()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await expect(jobs.eachSecond()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    lockChannels.acquire.asyncEnd.unsubscribe(ended);
    for (const job of ['Jobs.often', 'Jobs.eachSecond']) {
      // The release of a run that was under way when the server died fails, too.
      const lines = about(job).filter(([, text]) => !text.startsWith(`${job}: Redis `));
      // Of the first call that failed: its command may have been under way when the server died, or met no server.
      expect(lines).toEqual([['warn', `The job ${job} did not run: ${failures.get(job)!}`]]);
    }
    expect(logger.lines.filter(([level]) => level === 'error')).toEqual([]);
  });

  it('has no line about messages when the whole server is away', async () => {
    const server = await startRedisServer();
    const logger = new RecordingLogger();
    await start(server.url, logger);
    const locks = app.get(LockService);
    await server.kill();
    await eventually(() => expect(logger.about('The connection to')).toHaveLength(1));
    await expect(locks.acquire('a', { wait: '3s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(logger.about('The connection to')).toHaveLength(1);
    expect(logger.about('Pub/sub')).toEqual([]);
  });

  it('limits the lines about contention, at level debug, to one per lock and minute', async () => {
    const server = await startRedisServer();
    const logger = new RecordingLogger();
    await start(server.url, logger);
    const locks = app.get(LockService);
    const held = await locks.acquire('stock:1');
    for (let i = 0; i < 5; i += 1) expect(await locks.tryAcquire('stock:1')).toBeNull();
    expect(logger.lines.filter(([level, text]) => level === 'debug' && text.includes('another caller'))).toHaveLength(
      1,
    );
    await held.release();
  });
});
