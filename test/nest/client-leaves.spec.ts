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

/** Started by the first request that needs it, and goes on after it. */
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

@Controller()
class Orders {
  constructor(
    private readonly locks: LockService,
    private readonly poller: Poller,
  ) {}

  @Get('poll')
  async poll(): Promise<string> {
    this.poller.start();
    return stage.play(undefined, undefined);
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
      providers: [Poller],
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
    asking.on('error', () => undefined); // it hangs up on purpose
    return asking;
  }

  const connections = (): Promise<number> =>
    new Promise((resolve) => {
      (app.getHttpServer() as Server).getConnections((_error, count) => resolve(count));
    });

  it('that leaves while it waits ends the wait, and no error is logged', async () => {
    const first = fetch(`${url}/settle`);
    await stage.entered(1);
    const leaving = ask();
    // By then it has asked for the lock and listens for its client.
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

  it('that leaves while its handler runs leaves it the lock until it has ended', async () => {
    const before = await connections();
    const leaving = ask();
    await stage.entered(1);
    leaving.destroy();
    await new Promise((resolve) => leaving.once('close', resolve));
    await eventually(async () => expect(await connections()).toBeLessThanOrEqual(before));
    expect(await isLocked(redis, 'settle')).toBe(true);

    stage.open();
    await expectFree(redis, 'settle');
    expect(errors).not.toHaveBeenCalled();
  });

  it('that leaves takes no lock from what its request started and left running', async () => {
    const { seen } = app.get(Poller);
    const leaving = ask('poll');
    await stage.entered(1);
    await eventually(() => expect(seen).toContain('polled'));
    leaving.destroy();
    await eventually(() => expect(seen).toContain('LOCK_ABORTED'));
    stage.open();
    await eventually(() => expect(seen.at(-1)).toBe('polled'));
  });

  it('gets what a handler with @Res({ passthrough: true }) returned, and the lock is free', async () => {
    const response = await fetch(`${url}/passthrough`);
    expect([response.status, response.headers.get('x-own'), await response.json()]).toEqual([
      202,
      'yes',
      { held: true },
    ]);
    await expectFree(redis, 'passthrough');
  });
});
