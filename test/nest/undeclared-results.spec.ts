import { Injectable, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DistributeLock, LockConfigurationError, LockModule, LockService } from 'nestjs-distribute-lock';
import { firstValueFrom, from, lastValueFrom, mergeMap, of, toArray } from 'rxjs';

const inner = {
  async *steps(): AsyncGenerator<number> {
    yield 1;
    yield 2;
  },
};

/** The compiler emits no type for results that are inferred. */
@Injectable()
class Feed {
  constructor(private readonly locks: LockService) {}

  @DistributeLock({ key: 'feed' })
  values() {
    return of(1, 2);
  }

  @DistributeLock({ key: 'feed' })
  steps() {
    return inner.steps();
  }

  @DistributeLock({ key: 'feed' })
  promise() {
    return Promise.resolve(1);
  }

  @DistributeLock({ key: 'feed', result: 'observable' })
  declaredValues() {
    return of(1, 2).pipe(mergeMap(async (value) => [value, (await this.locks.inspect('feed')).held]));
  }

  @DistributeLock({ key: 'feed', result: 'iterable' })
  declaredSteps() {
    return inner.steps();
  }

  @DistributeLock({ key: 'feed', result: 'observable' })
  @DistributeLock({ key: 'feed:inner', result: 'observable' })
  twice() {
    return of(1);
  }
}

@Module({ imports: [LockModule.forRoot({ connection: 'memory' })], providers: [Feed] })
class App {}

describe('A locked method whose result has no declared type', () => {
  let app: TestingModule;
  let feed: Feed;

  beforeAll(async () => {
    app = await Test.createTestingModule({ imports: [App] }).compile();
    await app.init();
    feed = app.get(Feed);
  });

  afterAll(() => app.close());

  it.each([
    ['pipe() of an Observable', 'values', 'observable', () => feed.values().pipe()],
    ['subscribe() of an Observable', 'values', 'observable', () => feed.values().subscribe()],
    ['lastValueFrom() of an Observable', 'values', 'observable', () => lastValueFrom(feed.values())],
    [
      'mergeMap() to an Observable',
      'values',
      'observable',
      () => lastValueFrom(of(0).pipe(mergeMap(() => feed.values()))),
    ],
    [
      'await of an Observable',
      'values',
      'observable',
      async () => (await (feed.values() as unknown)) as Promise<unknown>,
    ],
    ['next() of a generator', 'steps', 'iterable', () => feed.steps().next()],
    [
      'for await of a generator',
      'steps',
      'iterable',
      async () => {
        for await (const _ of feed.steps()) break;
      },
    ],
    ['from() of a generator', 'steps', 'iterable', () => firstValueFrom(from(feed.steps()))],
  ] as const)('names the option at the first %s, and releases the lock', async (_use, method, result, use) => {
    const error: unknown = await (async () => use())().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockConfigurationError);
    expect((error as Error).message).toContain(`Feed.${method}`);
    expect((error as Error).message).toContain(`result: '${result}'`);
    expect(await app.get(LockService).withLock('feed', { wait: '30s' }, () => 'free')).toBe('free');
  });

  it('returns a promise unchanged', async () => {
    expect(await feed.promise()).toBe(1);
  });

  it('returns an Observable with `result: "observable"`, and holds the lock until it completes', async () => {
    expect(await lastValueFrom(feed.declaredValues().pipe(toArray()))).toEqual([
      [1, true],
      [2, true],
    ]);
    expect(await lastValueFrom(feed.twice())).toBe(1);
    expect((await app.get(LockService).inspect('feed')).held).toBe(false);
  });

  it('returns a generator with `result: "iterable"`', async () => {
    const steps: number[] = [];
    for await (const step of feed.declaredSteps()) steps.push(step);
    expect(steps).toEqual([1, 2]);
  });
});
