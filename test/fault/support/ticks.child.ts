import { AsyncLocalStorage } from 'node:async_hooks';

import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { DistributeLock, type Duration, LockModule } from 'nestjs-distribute-lock';

import { parentProcess } from '../../support/parent-process.js';

/** An instance whose job runs every second, by a clock that may be wrong, on an event loop that is blocked at random. */
const parent = parentProcess<{ stop: undefined }>();

/** The second in which the timer fired; the next one may fire before the job runs. */
const tick = new AsyncLocalStorage<number>();

@Injectable()
class Jobs {
  @Cron('* * * * * *', { name: 'each second', timeZone: 'UTC' })
  @DistributeLock({
    key: 'each-second',
    once: 'tick',
    onContended: 'skip',
    ttl: (process.env['TTL'] ?? '10s') as Duration,
  })
  async run(): Promise<void> {
    parent.send('ran', tick.getStore());
    if (process.env['HANGS'] !== undefined) await new Promise(() => undefined);
  }
}

const app = await NestFactory.createApplicationContext(
  {
    module: class {},
    imports: [
      LockModule.forRoot({ connection: process.env['REDIS_URL']!, prefix: process.env['PREFIX']! }),
      ScheduleModule.forRoot(),
    ],
    providers: [Jobs],
  },
  { logger: false },
);
const job = app.get(SchedulerRegistry).getCronJob('each second');
const fireOnTick = job.fireOnTick.bind(job);
job.fireOnTick = () => tick.run(Math.floor(job.lastDate()!.getTime() / 1_000) * 1_000, fireOnTick);
const blocked = setInterval(() => {
  const until = performance.now() + Math.random() * 300;
  while (performance.now() < until);
}, 700);
parent.on('stop', () => {
  clearInterval(blocked);
  void app.close().then(() => process.disconnect());
});
parent.send('ready', undefined);
