import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { DistributeLock, LockModule } from 'nestjs-distribute-lock';

const INSTANCES = 3;
const COUNTED_MS = 5_000;

/** The ticks that ran, on any instance. */
const ran: number[] = [];

@Injectable()
class Jobs {
  constructor(private readonly registry: SchedulerRegistry) {}

  @Cron('* * * * * *', { name: 'each-second', timeZone: 'UTC' })
  @DistributeLock({ key: 'each-second', once: 'tick', onContended: 'skip' })
  async eachSecond(): Promise<void> {
    // Releases of the package differ in the type of the date.
    const fired = Number(this.registry.getCronJob('each-second').lastDate());
    ran.push(Math.floor(fired / 1_000));
  }
}

@Module({
  imports: [LockModule.forRoot({ connection: process.env['REDIS_URL'], prefix: 'ticks:' }), ScheduleModule.forRoot()],
  providers: [Jobs],
})
class AppModule {}

/** Instances of an application in one process: each has its own timers and connections. */
async function ticks(): Promise<void> {
  const instances = await Promise.all(
    Array.from({ length: INSTANCES }, () => NestFactory.createApplicationContext(AppModule, { logger: ['error'] })),
  );
  await new Promise((resolve) => setTimeout(resolve, COUNTED_MS));
  await Promise.all(instances.map((instance) => instance.close()));
  process.stdout.write(`${JSON.stringify({ several: ran.length > 2, twice: ran.length - new Set(ran).size })}\n`);
}

ticks().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
