/**
 * An instance in a rolling deployment. It takes locks of all kinds in a loop, and records in Redis what it saw inside each of
 * them, until SIGTERM.
 */
import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { isLockError, LockModule, LockService } from 'nestjs-distribute-lock';

const { REDIS_URL, INSTANCE, PREFIX } = process.env;
const CALLERS = 3;
const HOLD_MS = 2;

/** Key and options of each kind, and the kind that must not hold the key at the same time. */
const KINDS = {
  exclusive: { key: 'exclusive', options: {} },
  strict: { key: 'strict', options: { fair: 'strict' } },
  semaphore: { key: 'semaphore', options: { kind: 'semaphore', permits: 2 } },
  write: { key: 'shared', options: { kind: 'write' }, without: 'read' },
  read: { key: 'shared', options: { kind: 'read' }, without: 'write' },
};

class AppModule {}
Module({ imports: [LockModule.forRoot({ connection: REDIS_URL, prefix: PREFIX })] })(AppModule);

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const locks = app.get(LockService);
const redis = new Redis(REDIS_URL);
let stopping = false;
process.once('SIGTERM', () => {
  stopping = true;
  void app.close();
});
const callers = Object.keys(KINDS).flatMap((kind) => Array.from({ length: CALLERS }, () => loop(kind)));
console.log('ready');
await Promise.all(callers);
await redis.quit();

async function loop(kind) {
  try {
    while (!stopping) await hold(kind);
  } catch (error) {
    if (!stopping || !isLockError(error, 'LOCK_SHUTDOWN')) throw error;
  }
}

async function hold(kind) {
  const { key, options, without } = KINDS[kind];
  const calledAt = performance.now();
  const lease = await locks.acquire(key, { ttl: '5s', wait: '20s', ...options });
  const waitedMs = performance.now() - calledAt;
  const inside = await redis.incr(`inside:${kind}`);
  const others = without === undefined ? 0 : Number(await redis.get(`inside:${without}`));
  const { fencingToken } = lease;
  await redis.rpush(`holds:${kind}`, JSON.stringify({ instance: INSTANCE, fencingToken, inside, others, waitedMs }));
  await delay(HOLD_MS);
  await redis.decr(`inside:${kind}`);
  await lease.release();
}
