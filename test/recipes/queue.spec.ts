import { BullModule, getQueueToken, Processor, WorkerHost } from '@nestjs/bullmq';
import { type INestApplicationContext, Injectable, type Provider } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DelayedError, type Job, Queue } from 'bullmq';
import { DistributeLock, type Lease, type LockContentionInfo, LockModule } from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { Invoices } from '../nest/recipes/invoices.js';
import { InvoicesProcessor } from '../nest/recipes/invoices.processor.js';
import { useRedis } from '../support/use-redis.js';

const LIMIT_MS = 30_000;
const TEST_LIMIT_MS = 100_000;

/** Notes which keys are being settled, in all instances. */
@Injectable()
class Books {
  readonly open = new Map<string, number>();
  readonly settled: string[] = [];
  mostPerKey = 0;
  mostKeys = 0;
  gate: Promise<void> = Promise.resolve();

  async settle(_amount: number, lease: Lease | undefined): Promise<string> {
    const key = lease?.key ?? 'no lock';
    this.open.set(key, (this.open.get(key) ?? 0) + 1);
    this.mostPerKey = Math.max(this.mostPerKey, ...this.open.values());
    this.mostKeys = Math.max(this.mostKeys, [...this.open.values()].filter((count) => count > 0).length);
    await this.gate;
    this.open.set(key, this.open.get(key)! - 1);
    this.settled.push(key);
    return 'done';
  }
}

/** The processor of the recipe, whose jobs wait in the worker for a moment first. */
@Processor('patient')
class PatientProcessor extends WorkerHost {
  constructor(private readonly books: Books) {
    super();
  }

  @DistributeLock({ key: 'patient', wait: '200ms', onContended: delayJob })
  async process(_job: Job): Promise<string> {
    return this.books.settle(1, undefined);
  }
}

async function delayJob({ retryAfterMs }: LockContentionInfo, job: Job, token?: string): Promise<never> {
  await job.moveToDelayed(Date.now() + Math.min(retryAfterMs, 1000), token);
  throw new DelayedError();
}

describe('recipe: one job per customer at a time in BullMQ', () => {
  const redis = useRedis();
  let books: Books;
  let instances: INestApplicationContext[];

  beforeEach(() => {
    books = new Books();
    instances = [];
  });

  afterEach(() => Promise.all(instances.map((app) => app.close())));

  async function start(queue: string, processor: Provider): Promise<Queue> {
    for (let instance = 1; instance <= 2; instance += 1) {
      const module = await Test.createTestingModule({
        imports: [
          LockModule.forRoot({ connection: redis.url, prefix: redis.prefix }),
          BullModule.forRoot({ connection: { url: redis.url }, prefix: `${redis.prefix}bull` }),
          BullModule.registerQueue({ name: queue }),
        ],
        providers: [processor, { provide: Books, useValue: books }, { provide: Invoices, useValue: books }],
      }).compile();
      module.useLogger(false);
      instances.push(await module.init());
    }
    return instances[0].get<Queue>(getQueueToken(queue));
  }

  const jobs = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ name: 'settle', data: { customer: `c${at % 3}`, amount: 1 } }));

  it('settles 30 jobs on two instances: one per customer at a time, and several customers at once', async () => {
    let open!: () => void;
    books.gate = new Promise((resolve) => (open = resolve));
    const queue = await start('invoices', InvoicesProcessor);
    await queue.addBulk(jobs(30));
    await eventually(() => expect(books.mostKeys).toBe(3), LIMIT_MS);
    open();

    await eventually(() => expect(books.settled).toHaveLength(30), LIMIT_MS);
    expect(books.mostPerKey).toBe(1);
    await eventually(async () =>
      expect(await queue.getJobCounts('completed', 'failed')).toEqual({ completed: 30, failed: 0 }),
    );
  });

  it(
    'lets a job wait in its worker first, and delays it when that time has passed',
    async () => {
      let open!: () => void;
      books.gate = new Promise((resolve) => (open = resolve));
      const queue = await start('patient', PatientProcessor);
      await queue.addBulk(jobs(2));
      await eventually(async () => expect(await queue.getDelayedCount()).toBe(1), LIMIT_MS);
      open();
      await eventually(async () => expect(await queue.getCompletedCount()).toBe(2), LIMIT_MS);
      expect(books.mostPerKey).toBe(1);
    },
    TEST_LIMIT_MS,
  );

  it(
    'fails no job when the instances shut down',
    async () => {
      books.settle = () => new Promise((resolve) => setTimeout(() => resolve('done'), 20));
      const queueHere = await start('invoices', InvoicesProcessor);
      const earlier = await queueHere.getCompletedCount();
      await queueHere.addBulk(jobs(60));
      await eventually(async () => expect(await queueHere.getCompletedCount()).toBeGreaterThan(earlier + 3), LIMIT_MS);
      await Promise.all(instances.splice(0).map((app) => app.close()));

      const queue = new Queue('invoices', queueHere.opts);
      const counts = await queue.getJobCounts('completed', 'failed', 'waiting', 'delayed');
      await queue.close();
      expect(counts).toMatchObject({ failed: 0 });
      expect(counts['completed'] + counts['waiting'] + counts['delayed']).toBe(earlier + 60);
    },
    TEST_LIMIT_MS,
  );
});
