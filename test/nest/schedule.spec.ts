import { Inject, type INestApplicationContext, Injectable, Logger, type Type } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Cron, Interval, ScheduleModule, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import { jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { CurrentLease, DistributeLock, type Lease, LockEvents, LockModule, LockService } from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { type RedisCorner, useRedis } from '../support/use-redis.js';
import { expectFree, isLocked, showLocked } from './support/show-locked.js';
import { stage } from './support/stage.js';

class Job {
  @Inject(LockService) readonly locks!: LockService;
}

@Injectable()
class CronJob extends Job {
  @Cron('0 3 1 1 *', { name: 'nightly' })
  @DistributeLock({ key: 'nightly', onContended: 'skip' })
  async nightly(@CurrentLease() lease?: Lease): Promise<void> {
    await stage.play(lease, this.locks.current());
  }
}

@Injectable()
class IntervalJob extends Job {
  @Interval(20)
  @DistributeLock({ key: 'interval', onContended: 'skip' })
  async often(@CurrentLease() lease?: Lease): Promise<void> {
    await stage.play(lease, this.locks.current());
  }
}

@Injectable()
class TimeoutJob extends Job {
  @Timeout(20)
  @DistributeLock({ key: 'timeout', onContended: 'skip' })
  async once(@CurrentLease() lease?: Lease): Promise<void> {
    await stage.play(lease, this.locks.current());
  }
}

@Injectable()
class Listener extends Job {
  @OnEvent('order.opened')
  @DistributeLock({ key: 'opened:#{arg0.id}', onContended: 'skip' })
  async opened(_order: { id: string }, @CurrentLease() lease?: Lease): Promise<void> {
    await stage.play(lease, this.locks.current());
  }
}

describe('without a request', () => {
  const redis = useRedis();
  let app: INestApplicationContext;
  const skipped: string[] = [];
  const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);

  async function start(job: Type<Job>): Promise<void> {
    stage.reset();
    stage.close();
    skipped.length = 0;
    errors.mockClear();
    app = await application(redis, job);
    app.get(LockEvents).listen(({ type, name }) => void (type === 'contended' && skipped.push(name)));
  }

  afterEach(async () => {
    stage.open();
    await app.close();
  });

  it('locks @Cron, which skips without an error in the log', async () => {
    await start(CronJob);
    const job = app.get(SchedulerRegistry).getCronJob('nightly');
    await showLocked(redis, {
      key: 'nightly',
      call: async () => job.fireOnTick(),
      refused: async () => {
        await job.fireOnTick();
        await eventually(() => expect(skipped).toEqual(['CronJob.nightly']));
        expect(errors).not.toHaveBeenCalled();
      },
    });
    await eventually(() => expect(errors).toHaveBeenCalledTimes(1)); // the work failed on purpose
  });

  it('skips @Cron while the application shuts down, without an error in the log', async () => {
    await start(CronJob);
    const job = app.get(SchedulerRegistry).getCronJob('nightly');
    const running = job.fireOnTick();
    await stage.entered(1);
    const closing = app.close();
    await eventually(() =>
      expect(app.get(LockService).acquire('other')).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' }),
    );
    await job.fireOnTick();
    stage.open();
    await Promise.all([running, closing]);
    expect(stage.visits).toHaveLength(1);
    expect(errors).not.toHaveBeenCalled();
  });

  it('reports the shutdown to a caller of a method that is no job', async () => {
    await start(Listener);
    const listener = app.get(Listener);
    await app.close();
    await expect(listener.opened({ id: '7' })).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
  });

  it('locks @Interval, which skips while the previous run continues', async () => {
    await start(IntervalJob);
    await stage.entered(1);
    await eventually(() => expect(skipped.length).toBeGreaterThan(2));
    expect(stage.visits).toEqual([{ key: 'interval', current: true }]);
    expect(await isLocked(redis, 'interval')).toBe(true);

    stage.open();
    await stage.entered(2);
    expect(errors).not.toHaveBeenCalled();
  });

  it('locks @Timeout', async () => {
    await start(TimeoutJob);
    await stage.entered(1);
    expect(await isLocked(redis, 'timeout')).toBe(true);
    stage.open();
    await expectFree(redis, 'timeout');

    const held = await app.get(LockService).acquire('timeout');
    expect(await app.get(TimeoutJob).once()).toBeUndefined();
    expect(stage.visits).toHaveLength(1);
    await held.release();
  });

  it('locks @OnEvent, which skips while another call runs', async () => {
    await start(Listener);
    const emit = () => app.get(EventEmitter2).emitAsync('order.opened', { id: '7' });
    await showLocked(redis, {
      key: 'opened:7',
      call: emit,
      refused: async () => {
        expect(await emit()).toEqual([undefined]);
        expect(skipped).toEqual(['Listener.opened']);
      },
    });
  });
});

/** One job per application, so that their timers do not share the stage. */
async function application(redis: RedisCorner, job: Type<Job>): Promise<INestApplicationContext> {
  const module = await Test.createTestingModule({
    imports: [
      LockModule.forRoot({ connection: redis.url, prefix: redis.prefix }),
      ScheduleModule.forRoot(),
      EventEmitterModule.forRoot(),
    ],
    providers: [job],
  }).compile();
  module.useLogger(false);
  return module.init();
}
