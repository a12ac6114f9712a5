/**
 * Starts the application like its users do, acquires a lock, and prints the responses to other callers while it is
 * held.
 */
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { Redis } from 'ioredis';
import { LockService } from 'nestjs-distribute-lock';
import { lastValueFrom } from 'rxjs';
import { AppModule, Gate } from './application.js';
import { grace } from './grace.js';

const KEY = 'lock:invoice:42';

export async function scenario(): Promise<unknown> {
  const port = await freePort();
  const warnings: string[] = [];
  const logger = { log: () => undefined, error: console.error, warn: (line: string) => void warnings.push(line) };
  const app = await NestFactory.create(AppModule, { logger });
  app.connectMicroservice(
    { transport: Transport.TCP, options: { host: '127.0.0.1', port } },
    { inheritAppConfig: true },
  );
  app.enableShutdownHooks();
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  const redis = new Redis(process.env['REDIS_URL']!);
  try {
    return { ...(await whileHeld(app, redis, port, warnings)), grace: await grace(), ...versions() };
  } finally {
    redis.disconnect();
    await app.close();
  }
}

async function whileHeld(app: INestApplication, redis: Redis, port: number, warnings: string[]): Promise<object> {
  const gate = app.get(Gate);
  const post = async (): Promise<Response> => fetch(`${await app.getUrl()}/invoices/42`, { method: 'POST' });
  const first = post();
  await gate.entered;
  const held = await redis.exists(KEY);
  const second = await post();
  const { code } = (await second.json()) as { code: string };
  const guarded = await fetch(`${await app.getUrl()}/invoices/guarded`);
  const message = await sent(port);
  const event = await warned(warnings);
  gate.letGo();
  const answer = await first;
  const report = await app.get(LockService).withLock('report', (lease) => lease.isHeld());
  return {
    first: [answer.status, await answer.json()],
    second: [second.status, code, second.headers.get('retry-after') !== null],
    guard: [guarded.status, ((await guarded.json()) as { code: string }).code],
    message,
    event,
    redis: [held, await redis.exists(KEY)],
    report,
  };
}

/** The response to a caller over TCP. The package of the transport is optional, so the library loads it itself. */
async function sent(port: number): Promise<unknown> {
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
  try {
    await lastValueFrom(client.emit({ event: 'settled' }, '42'), { defaultValue: undefined });
    return await lastValueFrom(client.send('settle', '42'));
  } catch (error) {
    return (error as { code?: string }).code;
  } finally {
    await client.close();
  }
}

/** Whether the log names the handler of the refused event, which has no caller. */
async function warned(warnings: readonly string[]): Promise<boolean> {
  const named = (): boolean => warnings.some((line) => line.startsWith('InvoicesController.settled failed'));
  for (let attempt = 0; attempt < 100 && !named(); attempt += 1) await new Promise((next) => setTimeout(next, 50));
  return named();
}

/** The versions of the loaded packages, and the format of the library. */
function versions(): object {
  const require = createRequire(join(process.cwd(), 'package.json'));
  const versionOf = (name: string): string => (require(`${name}/package.json`) as { version: string }).version;
  const required = Object.keys(require.cache).some((file) =>
    /nestjs-distribute-lock[\\/]dist[\\/]cjs[\\/]index\.js$/.test(file),
  );
  return { nest: versionOf('@nestjs/core'), ioredis: versionOf('ioredis'), library: required ? 'CommonJS' : 'ESM' };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? address!.port : 0));
    });
  });
}
