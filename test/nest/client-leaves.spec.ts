import { type ClientRequest, request, type Server } from 'node:http';

import { jest } from '@jest/globals';
import { Controller, Get, Header, type INestApplication, Logger, Res } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  CurrentLease,
  DistributeLock,
  type Lease,
  LockInterceptor,
  LockModule,
  LockService,
} from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { ADAPTERS } from './support/adapters.js';
import { expectFree, isLocked } from './support/show-locked.js';
import { stage } from './support/stage.js';

/** Started by the first request that needs it, and continues after it. */
class Poller {
  readonly seen: string[] = [];
  private timer: NodeJS.Timeout | undefined;

  start(): void {
    this.timer ??= setInterval(() => {
      this.poll().then(
        () => this.seen.push('polled'),
        (error: { code: string }) => this.seen.push(error.code),
      );
    }, 20);
  }

  stop(): void {
    clearInterval(this.timer);
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

  @Get('steps')
  steps(): Promise<void> {
    return this.allSteps.run();
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

describe.each(ADAPTERS)('a client on %s', (_name, adapter) => {
  const redis = useRedis();
  const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const answers = jest.spyOn(LockInterceptor.prototype, 'around');
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
      controllers: [Orders],
      providers: [Poller, Steps],
    }).compile();
    app = module.createNestApplication(adapter());
    app.useLogger(['error', 'warn']);
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });

  afterAll(async () => {
    app.get(Poller).stop();
    await app.close();
  });

  beforeEach(() => {
    stage.reset();
    stage.close();
    errors.mockClear();
    answers.mockClear();
  });

  function ask(path = 'settle'): ClientRequest {
    const asking = request(`${url}/${path}`).end();
    asking.on('error', () => undefined); // the client closes the connection on purpose
    return asking;
  }

  const connections = (): Promise<number> =>
    new Promise((resolve) => {
      (app.getHttpServer() as Server).getConnections((_error, count) => resolve(count));
    });

  /** Resolves when the server has noticed the disconnect, too. */
  async function leave(leaving: ClientRequest): Promise<void> {
    const before = await connections();
    leaving.destroy();
    await eventually(async () => expect(await connections()).toBeLessThan(before));
  }

  it('that leaves while it waits ends the wait, and no error is logged', async () => {
    const first = fetch(`${url}/settle`);
    await stage.entered(1);
    const leaving = ask();
    // It has asked for the lock by then, and listens for a disconnect.
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

  it('that leaves while its handler runs does not end the lock of the handler', async () => {
    const leaving = ask();
    await stage.entered(1);
    await leave(leaving);
    expect(await isLocked(redis, 'settle')).toBe(true);

    stage.open();
    await expectFree(redis, 'settle');
    expect(errors).not.toHaveBeenCalled();
  });

  it('that leaves does not affect the lock of work that its request started', async () => {
    const { seen } = app.get(Poller);
    const leaving = ask('poll');
    await stage.entered(1);
    await eventually(() => expect(seen).toContain('polled'));
    await leave(leaving);
    const before = seen.length;
    await eventually(() => expect(seen.length).toBeGreaterThan(before + 2));
    stage.open();
    await eventually(() => expect(seen.length).toBeGreaterThan(before + 5));
    expect(new Set(seen)).toEqual(new Set(['polled']));
  });

  it('that leaves ends only waits of later steps, and none with abortOnDisconnect: false', async () => {
    const { outcomes } = app.get(Steps);
    const taken = await app.get(LockService).acquire('step:taken');
    const leaving = ask('steps');
    await stage.entered(1);
    await leave(leaving);
    stage.open();
    await eventually(() => expect(outcomes).toEqual(['free: ran', 'taken: LOCK_ABORTED']));
    await taken.release();
    await eventually(() => expect(outcomes.at(-1)).toBe('patient: ran'));
    outcomes.length = 0;
  });

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
