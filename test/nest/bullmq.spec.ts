import { BullModule, getQueueToken } from '@nestjs/bullmq';
import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { type Job, type Queue, QueueEvents } from 'bullmq';
import { LockModule } from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { useRedis } from '../support/use-redis.js';
import { Invoices } from './recipes/invoices.js';
import { InvoicesProcessor } from './recipes/invoices.processor.js';
import { showLocked } from './support/show-locked.js';
import { stage } from './support/stage.js';

describe('with BullMQ', () => {
  const redis = useRedis();
  let app: INestApplicationContext;
  let queue: Queue;
  let events: QueueEvents;

  beforeAll(async () => {
    const { port } = await startRedisServer();
    const connection = { host: '127.0.0.1', port };
    const module = await Test.createTestingModule({
      imports: [
        LockModule.forRoot({ connection: redis.url, prefix: redis.prefix }),
        BullModule.forRoot({ connection }),
        BullModule.registerQueue({ name: 'invoices' }),
      ],
      providers: [InvoicesProcessor, Invoices],
    }).compile();
    module.useLogger(false);
    app = await module.init();
    queue = app.get<Queue>(getQueueToken('invoices'));
    events = new QueueEvents('invoices', { connection });
    await events.waitUntilReady();
  });

  afterAll(async () => {
    await events.close();
    await app.close();
  });

  const add = (): Promise<Job> => queue.add('settle', { customer: 'acme', amount: 1 }, { attempts: 1 });

  it('locks process, and delays the second job without a failed attempt', async () => {
    let delayed: Job | undefined;
    await showLocked(redis, {
      key: 'customer:acme',
      call: async () => (await add()).waitUntilFinished(events),
      refused: async () => {
        delayed = await add();
        await eventually(async () => expect(await delayed!.getState()).toBe('delayed'));
        const { attemptsMade } = (await queue.getJob(delayed.id!)) as Job;
        expect(attemptsMade).toBe(0);
        await delayed.remove();
      },
      answer: 'done',
    });
  });

  it('runs the delayed job when its turn comes', async () => {
    stage.reset();
    stage.close();
    const first = await add();
    await stage.entered(1);
    const second = await add();
    await eventually(async () => expect(await second.getState()).toBe('delayed'));
    stage.open();
    expect(await first.waitUntilFinished(events)).toBe('done');
    expect(await second.waitUntilFinished(events)).toBe('done');
    expect((await queue.getJob(second.id!))?.attemptsMade).toBe(1);
  });
});
