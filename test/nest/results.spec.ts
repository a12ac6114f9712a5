import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Injectable,
  type NestInterceptor,
  Post,
  Sse,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DistributeLock, isLockError, LockModule, type LockOptions, LockService } from 'nestjs-distribute-lock';
import { lastValueFrom, Observable, timeout } from 'rxjs';
import request from 'supertest';

import { eventually } from '../support/eventually.js';
import { ADAPTERS } from './support/adapters.js';
import { RecordingStore } from './support/recording-store.js';

const KEY = 'k';
const seen: string[] = [];
let store: RecordingStore;

const locked = (): boolean => store.held.has(KEY);
const note = (what: string): void => void seen.push(`${what} ${locked() ? 'locked' : 'unlocked'}`);

async function* chunks(count: number): AsyncGenerator<string> {
  try {
    for (let index = 0; index < count; index += 1) {
      note(`chunk ${index}`);
      yield `${index}`;
      await delay(10);
    }
  } finally {
    note('ended');
  }
}

/** The outer interceptor that gives up on a slow handler. */
@Injectable()
class Impatient implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(timeout(50));
  }
}

@Controller()
class Results {
  constructor(private readonly locks: LockService) {}

  @Get('observable')
  @DistributeLock({ key: KEY })
  observable(): Observable<string> {
    return new Observable((subscriber) => {
      note(`subscribed ${this.locks.current()?.key ?? '-'}`);
      const timer = setTimeout(() => {
        note('emitted');
        subscriber.next('value');
        subscriber.complete();
      }, 100);
      return () => {
        clearTimeout(timer);
        note('torn down');
      };
    });
  }

  @Get('promised-observable')
  @DistributeLock({ key: KEY })
  async promisedObservable(): Promise<Observable<string>> {
    return this.observableOf('value');
  }

  @Sse('events')
  @DistributeLock({ key: KEY })
  async events(): Promise<Observable<{ data: string }>> {
    return new Observable((subscriber) => {
      let count = 0;
      const timer = setInterval(() => subscriber.next({ data: `${(count += 1)}` }), 10);
      return () => clearInterval(timer);
    });
  }

  @Get('file')
  @DistributeLock({ key: KEY })
  async file(): Promise<StreamableFile> {
    return new StreamableFile(Readable.from(chunks(3)));
  }

  @Get('generator')
  @DistributeLock({ key: KEY })
  async *generator(): AsyncGenerator<string> {
    note(`started ${this.locks.current()?.key ?? '-'}`);
    yield* chunks(3);
  }

  @Get('promised-generator')
  @DistributeLock({ key: KEY })
  async promisedGenerator(): Promise<AsyncGenerator<string>> {
    return chunks(3);
  }

  @Get('iterable')
  @DistributeLock({ key: KEY })
  async iterable(): Promise<AsyncIterable<string>> {
    return { [Symbol.asyncIterator]: () => chunks(3) };
  }

  @Get('passed-on')
  async passedOn(): Promise<AsyncGenerator<string>> {
    return this.generator();
  }

  @Get('own-lock')
  async *ownLock(): AsyncGenerator<string> {
    yield await this.locks.withLock(KEY, () => 'text');
  }

  @Get('iterable-with-own-lock')
  async iterableWithOwnLock(): Promise<AsyncIterable<string>> {
    return { [Symbol.asyncIterator]: () => this.ownLock() };
  }

  @Get('response')
  @DistributeLock({ key: KEY })
  async response(): Promise<Response> {
    const encoder = new TextEncoder();
    const source = chunks(3);
    const body = new ReadableStream({
      async pull(controller) {
        const { done, value } = await source.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
    });
    return new Response(body, { headers: { 'x-own': 'yes' } });
  }

  @Get('empty-response')
  @DistributeLock({ key: KEY })
  async emptyResponse(): Promise<Response> {
    return new Response(null, { status: 204 });
  }

  @Post('slow')
  @UseInterceptors(Impatient)
  @DistributeLock({ key: KEY })
  async slow(): Promise<string> {
    await delay(120);
    note('slow work done');
    return 'late';
  }

  private observableOf(value: string): Observable<string> {
    return new Observable((subscriber) => {
      note('subscribed');
      setTimeout(() => {
        note('emitted');
        subscriber.next(value);
        subscriber.complete();
      }, 20);
    });
  }
}

function withResults(defaults: LockOptions): Promise<TestingModule> {
  return Test.createTestingModule({
    // An estimate would depend on how long the tests before held the lock.
    imports: [LockModule.forRoot({ connection: store, defaults, retryAfter: '1s' })],
    controllers: [Results],
    providers: [Impatient],
  }).compile();
}

describe.each(ADAPTERS)('on %s a lock is kept until the result is complete', (_name, adapter) => {
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    store = new RecordingStore();
    const module = await withResults({ ttl: '30s' });
    app = module.createNestApplication(adapter(), { logger: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });

  afterAll(() => app.close());

  beforeEach(() => void (seen.length = 0));
  afterEach(() => eventually(() => expect(locked()).toBe(false)));

  const get = (path: string) => request(app.getHttpServer() as never).get(path);

  it('of an Observable method, which acquires it on subscribe', async () => {
    expect((await get('/observable')).text).toBe('value');
    expect(seen).toEqual(['subscribed k locked', 'emitted locked', 'torn down locked']);
    const unread = app.get(Results).observable();
    await delay(5);
    // Real time: the lock would be acquired in the same turn.
    expect(locked()).toBe(false);
    expect(await lastValueFrom(unread)).toBe('value');
    expect(await lastValueFrom(unread)).toBe('value');
  });

  it('of a promised Observable', async () => {
    expect((await get('/promised-observable')).text).toBe('value');
    expect(seen).toEqual(['subscribed locked', 'emitted locked']);
  });

  it('of an Observable that is unsubscribed', async () => {
    const subscription = app.get(Results).observable().subscribe();
    await eventually(() => expect(locked()).toBe(true));
    subscription.unsubscribe();
    await eventually(() => expect(locked()).toBe(false));
    expect(seen.at(-1)).toBe('torn down locked');
  });

  it('of a promised Observable: a second subscription fails', async () => {
    const used = await app.get(Results).promisedObservable();
    expect(await lastValueFrom(used)).toBe('value');
    const error: unknown = await lastValueFrom(used).catch((caught: unknown) => caught);
    expect(isLockError(error, 'LOCK_USAGE')).toBe(true);
  });

  it('of server-sent events, until the client leaves', async () => {
    const abort = new AbortController();
    const response = await fetch(`${url}/events`, { signal: abort.signal });
    const reader = response.body!.getReader();
    await reader.read();
    expect(locked()).toBe(true);
    abort.abort();
    await eventually(() => expect(locked()).toBe(false));
  });

  it.each(['/file', '/generator', '/promised-generator', '/iterable', '/response'])(
    'of a body that is streamed (%s)',
    async (path) => {
      const response = await fetch(`${url}${path}`);
      expect(response.status).toBe(200);
      expect(await response.text()).toBe('012');
      const all = ['chunk 0 locked', 'chunk 1 locked', 'chunk 2 locked', 'ended locked'];
      expect(seen.filter((line) => !line.startsWith('started'))).toEqual(all);
      if (path === '/response') expect(response.headers.get('x-own')).toBe('yes');
      if (path === '/generator') expect(seen[0]).toBe('started k locked');
    },
  );

  it.each(['/file', '/generator', '/promised-generator', '/iterable', '/response'])(
    'of a body whose client leaves (%s)',
    async (path) => {
      const abort = new AbortController();
      const response = await fetch(`${url}${path}`, { signal: abort.signal });
      await response.body!.getReader().read();
      abort.abort();
      await eventually(() => expect(locked()).toBe(false));
    },
  );

  it('of a response without a body', async () => {
    expect((await get('/empty-response')).status).toBe(204);
    expect(locked()).toBe(false);
  });

  it('of a handler that continues after an outer timeout has responded', async () => {
    const response = await request(app.getHttpServer() as never).post('/slow');
    expect(response.status).toBe(500);
    expect(locked()).toBe(true);
    // The body of a client that left before may still write its next chunk.
    const work = (): string[] => seen.filter((line) => !line.startsWith('chunk'));
    await eventually(() => expect(work()).toEqual(['slow work done locked']));
  });

  it('and a contended one leads to 409, for any return type of the handler', async () => {
    const lease = await app.get(LockService).acquire(KEY);
    for (const path of ['/observable', '/promised-observable', '/events', '/file', '/generator', '/response']) {
      const response = await get(path);
      expect([path, response.status, response.headers['retry-after']]).toEqual([path, 409, '1']);
      expect(response.body).toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    await lease.release();
  });

  it.each(['/passed-on', '/own-lock', '/iterable-with-own-lock'])(
    'and one that is acquired while the result of a handler without a lock is read leads to 409, too (%s)',
    async (path) => {
      const lease = await app.get(LockService).acquire(KEY);
      const response = await get(path);
      expect([response.status, response.headers['retry-after']]).toEqual([409, '1']);
      expect(response.body).toMatchObject({ code: 'LOCK_CONTENDED' });
      await lease.release();
      expect((await get(path)).status).toBe(200);
    },
  );

  it('of an async generator, which acquires it on the first next() and keeps it between steps', async () => {
    const generator = app.get(Results).generator();
    await delay(5);
    // Real time: the lock would be acquired in the same turn.
    expect(locked()).toBe(false);
    await generator.next();
    await delay(5);
    // Real time: the lock would be released in the same turn.
    expect(locked()).toBe(true);
    expect(await generator.return('left')).toEqual({ done: true, value: 'left' });
    expect(locked()).toBe(false);
    expect(seen.at(-1)).toBe('ended locked');
  });
});

describe('A lock without a reader of the result is kept for one ttl', () => {
  let results: Results;

  beforeEach(async () => {
    store = new RecordingStore();
    // Real time: the tests wait for its end.
    const module = await withResults({ ttl: '1s' });
    results = module.get(Results);
    seen.length = 0;
  });

  it('of a promised Observable', async () => {
    await results.promisedObservable();
    expect(locked()).toBe(true);
    await eventually(() => expect(locked()).toBe(false));
  });

  it('of a promised generator, and later reading fails', async () => {
    const rows = await results.promisedGenerator();
    expect(locked()).toBe(true);
    await eventually(() => expect(locked()).toBe(false));
    const error: unknown = await rows.next().catch((caught: unknown) => caught);
    expect(isLockError(error, 'LOCK_USAGE')).toBe(true);
    expect(seen).toEqual([]);
  });

  it('of a response whose body is never read', async () => {
    const response = await results.response();
    expect([response.ok, locked()]).toEqual([true, true]);
    await eventually(() => expect(locked()).toBe(false));
  });
});
