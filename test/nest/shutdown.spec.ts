import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

import {
  type BeforeApplicationShutdown,
  Controller,
  Get,
  type INestApplication,
  Injectable,
  Module,
  type OnApplicationShutdown,
  Post,
} from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DistributeLock, LockModule } from 'nestjs-distribute-lock';

import { Child } from '../support/child.js';
import { eventually } from '../support/eventually.js';

@Injectable()
class Hooks implements BeforeApplicationShutdown, OnApplicationShutdown {
  readonly called: string[] = [];

  beforeApplicationShutdown(): void {
    this.called.push('before');
  }

  onApplicationShutdown(): void {
    this.called.push('shutdown');
  }
}

@Controller()
class Work {
  finish: () => void = () => undefined;
  finishFree: () => void = () => undefined;

  constructor(private readonly hooks: Hooks) {}

  @Post()
  @DistributeLock({ key: 'work' })
  async work(): Promise<string> {
    await new Promise<void>((resolve) => (this.finish = resolve));
    return this.hooks.called.join();
  }

  @Get()
  async free(): Promise<string> {
    await new Promise<void>((resolve) => (this.finishFree = resolve));
    return this.hooks.called.join();
  }
}

const ADAPTERS: readonly (readonly [string, () => AbstractHttpAdapter])[] = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
];

/** Nest waits for connections that are kept alive, with and without locks. */
const CLOSES = { connection: 'close' };

describe.each(ADAPTERS)('A shutdown on %s while a lock is held', (_name, newAdapter) => {
  let app: INestApplication;
  let url: string;

  beforeEach(async () => {
    @Module({
      imports: [LockModule.forRoot({ connection: 'memory', drainTimeout: '10s' })],
      controllers: [Work],
      providers: [Hooks],
    })
    class App {}
    app = await NestFactory.create(App, newAdapter(), { logger: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });

  async function untilCalled(
    name: 'finish' | 'finishFree',
    call: () => Promise<Response>,
  ): Promise<Promise<Response>[]> {
    const work = app.get(Work);
    const before = work[name];
    const answer = call();
    while (work[name] === before) await new Promise((resolve) => setTimeout(resolve, 5));
    return [answer];
  }

  it('accepts connections until the drain ends, and closes clients only after running requests', async () => {
    const [locked] = await untilCalled('finish', () => fetch(url, { method: 'POST' }));
    const [free] = await untilCalled('finishFree', () => fetch(url, { headers: CLOSES }));
    const closing = app.close();
    const work = app.get(Work);
    while (app.get(Hooks).called.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));

    expect((await fetch(url, { method: 'POST', headers: CLOSES })).status).toBe(503);
    work.finish();
    const answer = await locked;
    expect([answer.status, await answer.text()]).toEqual([201, 'before']);
    work.finishFree();
    expect(await (await free).text()).toBe('before');
    await closing;
    expect(app.get(Hooks).called).toEqual(['before', 'shutdown']);
  });
});

describe('A shutdown by `nest start --watch`, which ends the shell around the process, while a lock is held', () => {
  it('frees the port at once, and still answers the request', async () => {
    const loader = new URL('../../tools/typescript-loader.mjs', import.meta.url).href;
    const script = fileURLToPath(new URL('restarted.child.ts', import.meta.url));
    const command = ['-c', '"$0" --import "$1" "$2"; true', process.execPath, loader, script];
    const spawned = spawn('sh', command);
    const shell = new Child(spawned);
    await shell.printed('listens');
    const [, pid, url] = /process (\d+) at (\S+) listens/.exec(shell.output) ?? [];
    const answer = fetch(url, { method: 'POST', headers: CLOSES });
    await shell.printed('held');

    spawned.kill();
    process.kill(Number(pid), 'SIGTERM');
    await eventually(async () => {
      const next = createServer().listen(Number(new URL(url).port), '127.0.0.1');
      await once(next, 'listening');
      next.close();
    });

    process.kill(Number(pid), 'SIGUSR2');
    expect((await answer).status).toBe(201);
    await shell.exited;
  });
});
