import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { CronJob } from 'cron';
import { DistributeLock, lastTick, LockModule, LockService } from 'nestjs-distribute-lock';

const INSTANCES = 3;
const COUNTED_MS = 5_000;

/** The ticks that ran, on any instance: of a named job, of a job without a name, and of a job that code added. */
const ran = { named: [] as number[], unnamed: [] as number[], added: [] as number[] };

const secondOf = (job: { lastDate(): Date | null }): number => Math.floor(Number(job.lastDate()) / 1_000);

@Injectable()
class Jobs implements OnModuleInit {
  constructor(
    private readonly registry: SchedulerRegistry,
    private readonly locks: LockService,
  ) {}

  onModuleInit(): void {
    const job: CronJob = new CronJob(
      '* * * * * *',
      () => this.locks.onceAt('added', lastTick(job)!, async () => void ran.added.push(secondOf(job))),
      null,
      true,
      'UTC',
    );
    this.registry.addCronJob('added', job);
  }

  @Cron('* * * * * *', { name: 'each-second', timeZone: 'UTC' })
  @DistributeLock({ key: 'each-second', once: 'tick', onContended: 'skip' })
  async eachSecond(): Promise<void> {
    ran.named.push(secondOf(this.registry.getCronJob('each-second')));
  }

  @Cron('* * * * * *', { timeZone: 'UTC' })
  @DistributeLock({ key: 'without-name', once: 'tick', onContended: 'skip' })
  async withoutName(): Promise<void> {
    const names = ['each-second', 'added'];
    const [, job] = [...this.registry.getCronJobs()].find(([name]) => !names.includes(name))!;
    ran.unnamed.push(secondOf(job));
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
  const all = Object.values(ran);
  const twice = all.reduce((sum, each) => sum + each.length - new Set(each).size, 0);
  process.stdout.write(`${JSON.stringify({ several: all.every(({ length }) => length > 2), twice })}\n`);
}

ticks().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
