import { Injectable, Logger, Scope, type Type } from '@nestjs/common';
import { jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import {
  Leader,
  type LeaderTerm,
  LockEvents,
  LockModule,
  type LockModuleOptions,
  LockService,
  MemoryLockStore,
} from 'nestjs-distribute-lock';
import { createLocks } from 'nestjs-distribute-lock/core';

import { standForPrices } from '../recipes/leader/candidate.js';
import { DueJobs } from '../recipes/leader/due-jobs.js';
import { JobScheduler } from '../recipes/leader/job-scheduler.js';
import { PriceFeed } from '../recipes/leader/price-feed.js';
import { Feed, Prices } from '../recipes/leader/prices.js';
import { eventually } from '../support/eventually.js';

const start = async (options: Partial<LockModuleOptions> = {}, ...providers: Type[]) => {
  const module = await Test.createTestingModule({
    imports: [LockModule.forRoot({ connection: 'memory', ...options })],
    providers,
  }).compile();
  module.useLogger(false);
  return module.init();
};

const startOn = async (connection: MemoryLockStore, jobs: DueJobs) => {
  const module = await Test.createTestingModule({
    imports: [LockModule.forRoot({ connection })],
    providers: [JobScheduler, { provide: DueJobs, useValue: jobs }],
  }).compile();
  module.useLogger(false);
  return module.init();
};

describe('LockService.lead', () => {
  it('leads again with a larger token after work that ends or fails', async () => {
    const app = await start();
    const tokens: number[] = [];
    const errors: unknown[] = [];
    const work = async ({ fencingToken }: LeaderTerm): Promise<void> => {
      tokens.push(fencingToken);
      if (tokens.length === 2) throw new Error('no feed');
    };
    const leader = app.get(LockService).lead('feed', work, {
      backoff: [1, 5],
      onError: (error) => errors.push((error as Error).message),
    });
    await eventually(() => expect(tokens.length).toBeGreaterThan(3));
    await leader.stop();
    expect(errors).toEqual(['no feed']);
    expect(tokens).toEqual(tokens.toSorted((one, other) => one - other));
    expect(new Set(tokens).size).toBe(tokens.length);
    await app.close();
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no report');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no report'))],
  ])('leads again when its onError %s', async (_, onError) => {
    const app = await start();
    const warnings = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    let terms = 0;
    const work = async (): Promise<void> => {
      terms += 1;
      throw new Error('no feed');
    };
    const leader = app.get(LockService).lead('feed', work, { backoff: [1, 5], onError });
    await eventually(() => expect(terms).toBeGreaterThan(2));
    expect(warnings).toHaveBeenCalledWith(new Error('no report'));
    await leader.stop();
    warnings.mockRestore();
    expect(await app.get(LockService).tryAcquire('feed')).not.toBeNull();
    await app.close();
  });

  it('ends no term by a maxHold among the defaults', async () => {
    const app = await start({ defaults: { maxHold: '1s' } });
    const ended: unknown[] = [];
    const work = async ({ signal }: LeaderTerm): Promise<void> => {
      // Real time: a term that is limited would have ended by then.
      await new Promise<void>((resolve) => {
        setTimeout(resolve, 1_500);
        signal.addEventListener('abort', () => resolve());
      });
      ended.push(signal.aborted);
    };
    const leader = app.get(LockService).lead('feed', work, { backoff: [1, 5] });
    await eventually(() => expect(ended).toHaveLength(1));
    await leader.stop();
    expect(ended[0]).toBe(false);
    await app.close();
  });

  it.each([
    [{ ttls: '1s' }, '"ttls" is not known'],
    [{ maxHold: '1s' }, '"maxHold" is not known'],
    [{ backoff: ['5s', '1s'] }, '"backoff"'],
  ])('refuses the options %j', async (options, message) => {
    const app = await start();
    expect(() => app.get(LockService).lead('feed', async () => undefined, options as never)).toThrow(message);
    await app.close();
  });

  it('keeps the lock until the work has settled, on stop, resign and shutdown', async () => {
    const app = await start();
    const locks = app.get(LockService);
    let settle: () => void = () => undefined;
    let terms = 0;
    const work = async ({ signal }: LeaderTerm): Promise<void> => {
      terms += 1;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      await new Promise<void>((resolve) => (settle = resolve));
    };
    const leader = locks.lead('feed', work, { backoff: [1, 5] });
    await eventually(() => expect(leader.isLeader).toBe(true));
    leader.resign();
    expect(leader.isLeader).toBe(false);
    expect(await locks.tryAcquire('feed')).toBeNull();
    settle();
    await eventually(() => expect(terms).toBe(2));
    const closing = app.close();
    await eventually(() => expect(leader.isLeader).toBe(false));
    settle();
    await Promise.all([closing, leader.stop()]);
    expect(terms).toBe(2);
  });
});

describe('The shutdown of a leader', () => {
  const untilAborted = ({ signal }: LeaderTerm): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve()));

  it('begins before the drain: others may lead while hooks of the application and work still run', async () => {
    const seen: (boolean | null)[] = [];
    @Injectable()
    class Hooks {
      constructor(private readonly locks: LockService) {}

      async beforeApplicationShutdown(): Promise<void> {
        await leader.stop();
        seen.push(leader.isLeader, (await this.locks.inspect('feed')).held);
      }
    }
    const app = await start({}, Hooks);
    const locks = app.get(LockService);
    const leader = locks.lead('feed', untilAborted);
    await eventually(() => expect(leader.isLeader).toBe(true));
    const working = await locks.acquire('order');
    const closing = app.close();
    await eventually(() => expect(seen).toEqual([false, false]));
    expect(working.isHeld()).toBe(true);
    await working.release();
    await closing;
  });

  it('is part of close() without Nest', async () => {
    const locks = await createLocks({ connection: 'memory' });
    const terms: LeaderTerm[] = [];
    const leader = locks.lead('feed', (term) => {
      terms.push(term);
      return untilAborted(term);
    });
    await eventually(() => expect(leader.isLeader).toBe(true));
    await locks.close();
    expect(terms.map(({ signal }) => signal.aborted)).toEqual([true]);
    expect(leader.isLeader).toBe(false);
  });

  it('has the events of a lock, under the name of the leader', async () => {
    const app = await start();
    const seen: string[] = [];
    app.get(LockEvents).listen(({ type, name }) => void seen.push(`${type} ${name}`));
    const leader = app.get(LockService).lead('feed', untilAborted, { name: 'prices' });
    await eventually(() => expect(leader.isLeader).toBe(true));
    await leader.stop();
    expect(seen).toEqual(['acquired prices', 'released prices']);
    await app.close();
  });
});

describe('@Leader', () => {
  it('is refused on a static method, which no instance can lead', () => {
    expect(() => {
      class Feeds {
        @Leader({ key: 'feed' })
        static async lead(_term: LeaderTerm): Promise<void> {}
      }
      return Feeds;
    }).toThrow('Feeds.lead cannot lead, because it is static');
  });

  it('calls the method with a key from the instance, until the shutdown', async () => {
    const seen: LeaderTerm[] = [];
    @Injectable()
    class TenantFeed {
      readonly tenant = 'acme';

      @Leader({ key: ({ tenant }: TenantFeed) => `feed:${tenant}` })
      async lead(term: LeaderTerm): Promise<void> {
        seen.push(term);
        await new Promise<void>((resolve) => term.signal.addEventListener('abort', () => resolve()));
      }
    }
    const app = await start({}, TenantFeed);
    await eventually(() => expect(seen[0]?.isLeader).toBe(true));
    expect(await app.get(LockService).tryAcquire('feed:acme')).toBeNull();
    await app.close();
    expect(seen.map(({ isLeader }) => isLeader)).toEqual([false]);
  });

  it('reads a stream in the recipe, with the token of its term', async () => {
    const app = await start({}, Feed, Prices, PriceFeed);
    const { tokens } = app.get(Prices);
    await eventually(() => expect(tokens.length).toBeGreaterThan(1));
    await app.close();
    expect(new Set(tokens).size).toBe(1);
  });

  it('looks for due jobs in one instance in the recipe, and ends without an error', async () => {
    const [one, other] = [new DueJobs(), new DueJobs()];
    const warned = jest.spyOn(Logger.prototype, 'error');
    const store = new MemoryLockStore();
    const instances = await Promise.all([one, other].map((jobs) => startOn(store, jobs)));
    await eventually(() => expect(one.looks.length + other.looks.length).toBeGreaterThan(1), 30_000);
    expect([one.looks, other.looks]).toContainEqual([]);
    await Promise.all(instances.map((app) => app.close()));
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });

  it('leads with a function in the recipe', async () => {
    const app = await start();
    const ended = (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    const leader = standForPrices(app.get(LockService), ended);
    await eventually(() => expect(leader.isLeader).toBe(true));
    await leader.stop();
    expect(leader.isLeader).toBe(false);
    await app.close();
  });

  it('prevents the start in a class that Nest creates for each request', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Many {
      @Leader({ key: 'feed' })
      async lead(): Promise<void> {}
    }
    await expect(start({}, Many)).rejects.toThrow('@Leader on Many.lead needs one instance');
  });
});
