import { once } from 'node:events';
import { type ClientRequest, request, type Server } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { connect as openSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { jest } from '@jest/globals';
import { Controller, Get, Header, type INestApplication, Logger, Res } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  CurrentLease,
  DistributeLock,
  type Lease,
  LockInterceptor,
  LockModule,
  type LockModuleOptions,
  LockService,
} from 'nestjs-distribute-lock';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { ADAPTERS } from './support/adapters.js';
import { expectFree, isLocked } from './support/show-locked.js';
import { stage } from './support/stage.js';

/** Started by the first request that needs it, and continues after it. Polls one after the other, so that none waits for another. */
class Poller {
  readonly seen: string[] = [];
  private polls: Promise<void> | undefined;
  private stopped = false;

  start(): void {
    this.polls ??= this.repeat();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.polls;
  }

  private async repeat(): Promise<void> {
    while (!this.stopped) {
      const outcome = this.poll().then(() => 'polled');
      this.seen.push(await outcome.catch((error: { code: string }) => error.code));
      await sleep(20);
    }
  }

  @DistributeLock({ key: 'poll', wait: '20s' })
  private async poll(): Promise<void> {}
}

/** Steps of one request, each under a separate lock. */
class Steps {
  readonly outcomes: string[] = [];

  async run(): Promise<void> {
    await stage.play(undefined, undefined);
    for (const step of ['free', 'taken', 'patient'] as const) {
      const outcome = await this[step]().catch((error: { code: string }) => error.code);
      this.outcomes.push(`${step}: ${outcome}`);
    }
  }

  @DistributeLock({ key: 'step:free', wait: '20s' })
  private async free(): Promise<string> {
    return 'ran';
  }

  @DistributeLock({ key: 'step:taken', wait: '20s' })
  private async taken(): Promise<string> {
    return 'ran';
  }

  @DistributeLock({ key: 'step:taken', wait: '20s', abortOnDisconnect: false })
  private async patient(): Promise<string> {
    return 'ran';
  }
}

@Controller()
class Orders {
  constructor(
    private readonly locks: LockService,
    private readonly poller: Poller,
    private readonly allSteps: Steps,
  ) {}

  @Get('poll')
  async poll(): Promise<string> {
    this.poller.start();
    return stage.play(undefined, undefined);
  }

  @Get('busy')
  busy(): Promise<string> {
    return stage.play(undefined, undefined);
  }

  @Get('steps')
  steps(): Promise<void> {
    return this.allSteps.run();
  }

  @Get('pages')
  @DistributeLock({ key: 'pages' })
  async *pages(): AsyncGenerator<string> {
    yield 'page';
    await this.allSteps.run();
  }

  @Get('limited')
  limited(): Promise<string> {
    return this.locks.withLock('limited', { wait: '20s', signal: AbortSignal.timeout(50) }, () => 'done');
  }

  @Get('settle')
  @DistributeLock({ key: 'settle', wait: '20s' })
  async settle(@CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  @Get('passthrough')
  @Header('x-own', 'yes')
  @DistributeLock({ key: 'passthrough' })
  async passthrough(@Res({ passthrough: true }) response: { status(code: number): unknown }): Promise<object> {
    response.status(202);
    return { held: this.locks.current()?.isHeld() };
  }
}

async function start(adapter: AbstractHttpAdapter, options: LockModuleOptions): Promise<INestApplication> {
  const imports = [LockModule.forRoot(options)];
  const module = await Test.createTestingModule({
    imports,
    controllers: [Orders],
    providers: [Poller, Steps],
  }).compile();
  const app = module.createNestApplication(adapter);
  app.useLogger(['error', 'warn']);
  await app.listen(0, '127.0.0.1');
  return app;
}

function ask(url: string, path: string): ClientRequest {
  const sending = request(`${url}/${path}`).end();
  sending.on('error', () => undefined); // the client closes the connection on purpose
  return sending;
}

const connectionsOf = (app: INestApplication): Promise<number> =>
  new Promise((resolve) => {
    (app.getHttpServer() as Server).getConnections((_error, count) => resolve(count));
  });

/** Resolves when the server has noticed the disconnect, too. */
async function leave(app: INestApplication, leaving: ClientRequest): Promise<void> {
  const before = await connectionsOf(app);
  leaving.destroy();
  await eventually(async () => expect(await connectionsOf(app)).toBeLessThan(before));
}

describe.each(ADAPTERS)('a client on %s', (_name, adapter) => {
  const redis = useRedis();
  const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const answers = jest.spyOn(LockInterceptor.prototype, 'around');
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    app = await start(adapter(), { connection: redis.url, prefix: redis.prefix });
    url = await app.getUrl();
  });

  afterAll(async () => {
    await app.get(Poller).stop();
    await app.close();
  });

  beforeEach(() => {
    stage.reset();
    stage.close();
    errors.mockClear();
    answers.mockClear();
  });

  it('that leaves while it waits ends the wait, and no error is logged', async () => {
    const first = fetch(`${url}/settle`);
    await stage.entered(1);
    const leaving = ask(url, 'settle');
    // It has called by then, and listens for a disconnect.
    await eventually(() => expect(answers).toHaveBeenCalledTimes(2));
    leaving.destroy();

    const waiting = answers.mock.results[1]?.value as Promise<unknown>;
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    stage.open();
    expect(await (await first).text()).toBe('done');
    await expectFree(redis, 'settle');
    expect(stage.visits).toHaveLength(1);
    expect(errors).not.toHaveBeenCalled();
  });

  it('that leaves ends the waits of requests that it sent before the first response', async () => {
    const PIPELINED = 12;
    const warnings: string[] = [];
    const warned = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', warned);
    const taken = await app.get(LockService).acquire('settle');
    const socket = openSocket(Number(new URL(url).port), '127.0.0.1');
    const requests = ['busy', ...Array.from({ length: PIPELINED }, () => 'settle')];
    socket.write(requests.map((path) => `GET /${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
    await eventually(() => expect(answers).toHaveBeenCalledTimes(PIPELINED));
    socket.destroy();

    for (const { value } of answers.mock.results) await expect(value).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    process.off('warning', warned);
    expect(warnings).toEqual([]);
    await taken.release();
  });

  it('that leaves while its handler runs does not end the lock of the handler', async () => {
    const leaving = ask(url, 'settle');
    await stage.entered(1);
    await leave(app, leaving);
    expect(await isLocked(redis, 'settle')).toBe(true);

    stage.open();
    await expectFree(redis, 'settle');
    expect(errors).not.toHaveBeenCalled();
  });

  it('that leaves does not affect the lock of work that its request started', async () => {
    const { seen } = app.get(Poller);
    const leaving = ask(url, 'poll');
    await stage.entered(1);
    await eventually(() => expect(seen).toContain('polled'));
    await leave(app, leaving);
    const before = seen.length;
    await eventually(() => expect(seen.length).toBeGreaterThan(before + 2));
    stage.open();
    await eventually(() => expect(seen.length).toBeGreaterThan(before + 5));
    // The request has ended, so its client does not end a wait either.
    const taken = await app.get(LockService).acquire('poll', { wait: '5s' });
    await sleep(50);
    await taken.release();
    await eventually(() => expect(seen.length).toBeGreaterThan(before + 10));
    expect(new Set(seen)).toEqual(new Set(['polled']));
  });

  it.each(['steps', 'pages'])(
    'that leaves ends only waits of later steps, and none with abortOnDisconnect: false (%s)',
    async (path) => {
      const { outcomes } = app.get(Steps);
      const taken = await app.get(LockService).acquire('step:taken');
      const leaving = ask(url, path);
      await stage.entered(1);
      await leave(app, leaving);
      stage.open();
      await eventually(() => expect(outcomes).toEqual(['free: ran', 'taken: LOCK_ABORTED']));
      await taken.release();
      await eventually(() => expect(outcomes.at(-1)).toBe('patient: ran'));
      outcomes.length = 0;
    },
  );

  it('that stays connected gets 503 when a time limit of the handler ended the wait', async () => {
    const taken = await app.get(LockService).acquire('limited');
    const response = await fetch(`${url}/limited`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ statusCode: 503, code: 'LOCK_ABORTED' });
    await taken.release();
  });

  it('gets the result of a handler with @Res({ passthrough: true }), and the lock is free', async () => {
    const response = await fetch(`${url}/passthrough`);
    expect([response.status, response.headers.get('x-own'), await response.json()]).toEqual([
      202,
      'yes',
      { held: true },
    ]);
    await expectFree(redis, 'passthrough');
  });
});

describe('a client with HTTP/2', () => {
  const redis = useRedis();
  const answers = jest.spyOn(LockInterceptor.prototype, 'around');
  let app: INestApplication;
  let client: ClientHttp2Session;

  beforeAll(async () => {
    app = await start(new FastifyAdapter({ http2: true }), { connection: redis.url, prefix: redis.prefix });
    client = connect(await app.getUrl());
  });

  afterAll(async () => {
    client.destroy();
    await app.close();
  });

  beforeEach(() => {
    stage.reset();
    stage.close();
    answers.mockClear();
  });

  function askInStream(path: string): ClientHttp2Stream {
    const sending = client.request({ ':path': `/${path}` });
    sending.on('error', () => undefined);
    return sending.end();
  }

  it('that cancels its request ends the wait', async () => {
    const taken = await app.get(LockService).acquire('settle');
    const leaving = askInStream('settle');
    await eventually(() => expect(answers).toHaveBeenCalledTimes(1));
    leaving.close(constants.NGHTTP2_CANCEL);
    await expect(answers.mock.results[0]?.value).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    await taken.release();
  });

  it('that cancels its request ends the waits of later steps', async () => {
    const { outcomes } = app.get(Steps);
    const taken = await app.get(LockService).acquire('step:taken');
    const leaving = askInStream('steps');
    await stage.entered(1);
    leaving.close(constants.NGHTTP2_CANCEL);
    await once(leaving, 'close');
    stage.open();
    await eventually(() => expect(outcomes).toEqual(['free: ran', 'taken: LOCK_ABORTED']));
    await taken.release();
    await eventually(() => expect(outcomes.at(-1)).toBe('patient: ran'));
  });
});

describe('a client of an application with abortOnDisconnect: false', () => {
  const redis = useRedis();

  it('that leaves while it waits ends no wait', async () => {
    stage.reset();
    const { url: connection, prefix } = redis;
    const app = await start(new ExpressAdapter(), { connection, prefix, abortOnDisconnect: false });
    onCleanup(() => app.close());
    const { outcomes } = app.get(Steps);
    const taken = await app.get(LockService).acquire('step:taken');
    const leaving = ask(await app.getUrl(), 'steps');
    await eventually(() => expect(outcomes).toEqual(['free: ran']));
    await leave(app, leaving);
    await taken.release();
    await eventually(() => expect(outcomes).toEqual(['free: ran', 'taken: ran', 'patient: ran']));
  });
});
