import { connect as openSocket, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { jest } from '@jest/globals';
import { Controller, Get, type INestApplication, Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DistributeLock, LockInterceptor, LockModule, LockService } from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { ADAPTERS } from './support/adapters.js';
import { stage } from './support/stage.js';

@Injectable()
class Audit {
  outcome: string | undefined;

  async record(step: () => Promise<string>): Promise<void> {
    this.outcome = await step().catch((error: { code: string }) => error.code);
  }

  @DistributeLock({ key: 'audit', wait: '20s' })
  async wait(): Promise<string> {
    return 'ran';
  }

  @DistributeLock({ key: 'audit:#{headers.host}' })
  async ofHost(): Promise<string> {
    return 'ran';
  }
}

@Controller()
class Api {
  constructor(private readonly audit: Audit) {}

  private async *pages(last: () => Promise<string>): AsyncGenerator<string> {
    try {
      yield 'first page';
      await stage.play(undefined, undefined);
      yield 'second page';
      yield 'third page';
    } finally {
      await this.audit.record(last);
    }
  }

  @Get('waits')
  waits(): AsyncGenerator<string> {
    return this.pages(() => this.audit.wait());
  }

  @Get('of-host')
  ofHost(): AsyncGenerator<string> {
    return this.pages(() => this.audit.ofHost());
  }

  @Get('slow')
  slow(): Promise<string> {
    return stage.play(undefined, undefined);
  }

  @Get('background')
  background(): string {
    setTimeout(() => void this.audit.record(() => this.audit.wait()), 10);
    return 'started';
  }
}

describe.each(ADAPTERS)('after its client has left on %s,', (_name, adapter) => {
  const redis = useRedis();
  const answers = jest.spyOn(LockInterceptor.prototype, 'around');
  let app: INestApplication;
  let audit: Audit;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
      controllers: [Api],
      providers: [Audit],
    }).compile();
    app = module.createNestApplication(adapter());
    await app.listen(0, '127.0.0.1');
    audit = app.get(Audit);
  });

  afterAll(() => app.close());

  beforeEach(() => {
    stage.reset();
    stage.close();
    answers.mockClear();
    audit.outcome = undefined;
  });

  async function ask(...paths: readonly string[]): Promise<Socket> {
    const socket = openSocket(Number(new URL(await app.getUrl()).port), '127.0.0.1');
    socket.write(paths.map((path) => `GET /${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
    await stage.entered(1);
    return socket;
  }

  it('a generator does not wait in its finally block', async () => {
    const taken = await app.get(LockService).acquire('audit');
    const socket = await ask('waits');
    socket.destroy();
    await sleep(50);
    stage.open();
    await eventually(() => expect(audit.outcome).toBe('LOCK_ABORTED'));
    await taken.release();
  });

  it('a generator renders keys of the request in its finally block', async () => {
    const socket = await ask('of-host');
    socket.destroy();
    await sleep(50);
    stage.open();
    await eventually(() => expect(audit.outcome).toBe('ran'));
  });

  it('background work of a handler that has ended continues to wait', async () => {
    const taken = await app.get(LockService).acquire('audit');
    const socket = await ask('slow', 'background');
    await eventually(() => expect(answers).toHaveBeenCalledTimes(1));
    socket.destroy();
    await sleep(100);
    // Real time: on a slow machine it has waited less.
    expect(audit.outcome).toBeUndefined();
    stage.open();
    await taken.release();
    await eventually(() => expect(audit.outcome).toBe('ran'));
  });
});
