import { setTimeout as delay } from 'node:timers/promises';

import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { LockModule, LockService } from 'nestjs-distribute-lock';
import {
  createLocks,
  type CreateLocksOptions,
  type LockEvent,
  MemoryLockStore,
  OpenedLocks,
} from 'nestjs-distribute-lock/core';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { startProcess } from '../support/second-process.js';
import { useRedis } from '../support/use-redis.js';

/** A value from a caller without types. */
type Anything = never;

const redis = useRedis();
let count = 0;
const newKey = (): string => `key-${(count += 1)}`;

async function open(options: Partial<CreateLocksOptions> = {}): Promise<OpenedLocks> {
  const locks = await createLocks({ connection: redis.url, prefix: redis.prefix, drainTimeout: 0, ...options });
  onCleanup(() => locks.close());
  return locks;
}

async function nestLocks(): Promise<LockService> {
  const module = LockModule.forRoot({ connection: redis.url, prefix: redis.prefix, drainTimeout: 0 });
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  onCleanup(() => app.close());
  return app.get(LockService);
}

describe('createLocks', () => {
  it('excludes other processes under the prefix, by each kind of call', async () => {
    const [here, there] = [await open(), await open()];
    const key = newKey();
    const lease = await here.acquire(key, { name: 'report' });
    expect(await redis.client.exists(`${redis.prefix}${key}`)).toBe(1);
    expect(await there.tryAcquire(key)).toBeNull();
    await expect(there.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await expect(there.withLock([newKey(), key], () => 'ran')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(await there.inspect(key)).toMatchObject({ held: true, holders: [{ here: false }] });
    expect((await here.inspect(key)).holders).toMatchObject([{ here: true, names: ['report'] }]);

    expect(await there.forceRelease(key)).toBe(true);
    await eventually(() => expect(lease.signal.aborted).toBe(true));
    await using stolen = await there.steal(key);
    expect(stolen.fencingToken).toBeGreaterThan(lease.fencingToken);
  });

  it('returns the lease of the running call by current', async () => {
    const locks = await open();
    const key = newKey();
    expect(locks.current()).toBeUndefined();
    expect(await locks.withLock(key, (lease) => locks.current(key)?.fencingToken === lease.fencingToken)).toBe(true);
  });

  it('waits behind a Nest application by message, and the application behind it', async () => {
    const plain = await open();
    const nest = await nestLocks();
    for (const [holder, waiter] of [
      [plain, nest],
      [nest, plain],
    ] as const) {
      const key = newKey();
      const lease = await holder.acquire(key);
      expect(await waiter.tryAcquire(key)).toBeNull();
      const waiting = waiter.acquire(key, { wait: '30s' });
      await eventually(async () => expect(await holder.inspect(key)).toMatchObject({ waiting: 1 }));
      await lease.release();
      await (await waiting).release();
    }
  });

  it('applies its options', async () => {
    const locks = await open({
      defaults: { ttl: '20s' },
      presets: { short: { ttl: '10s' } } as Anything,
      maxWaiters: 1,
    });
    const remaining = async (options: object): Promise<number> => {
      const key = newKey();
      return locks.withLock(key, options, async () => (await locks.inspect(key)).remainingMs);
    };
    expect(Math.ceil((await remaining({})) / 10_000)).toBe(2);
    expect(Math.ceil((await remaining({ preset: 'short' })) / 10_000)).toBe(1);
  });

  it.each([
    [undefined, 'Option "connection" of createLocks is undefined.'],
    ['', 'Option "connection" of createLocks is empty.'],
    ['http://127.0.0.1', 'Option "connection" is not a Redis URL'],
  ])('rejects the connection %j', async (connection, message) => {
    await expect(createLocks({ connection })).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining(message) as string,
    });
  });

  it.each([
    [undefined, 'The options of createLocks must be an object'],
    [{ contendedStatus: 409 }, 'Option "contendedStatus" is not known. Known options: connection,'],
    [{ prefix: '' }, 'Option "prefix" is ""'],
    [{ log: 'console' }, 'Option "log" must be an object'],
  ])('rejects the options %j', async (options, message) => {
    const given = options && { connection: 'memory', ...options };
    await expect(createLocks(given as Anything)).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining(message) as string,
    });
  });

  it('names its class in messages', async () => {
    const locks = await open({ connection: 'memory' });
    await expect(locks.acquire('')).rejects.toMatchObject({ message: 'The key given to Locks.acquire is empty.' });
    await expect(locks.inspect('')).rejects.toMatchObject({ message: 'The key given to Locks.inspect is empty.' });
  });

  it('keeps locks in memory, or in a store of the application', async () => {
    const store = new MemoryLockStore();
    for (const connection of ['memory', store] as const) {
      const locks = await open({ connection });
      const key = newKey();
      const lease = await locks.acquire(key);
      expect(await locks.tryAcquire(key)).toBeNull();
      await lease.release();
      await locks.close();
    }
  });

  it('rejects when the server is dead, and leaves nothing open', async () => {
    const server = await startRedisServer();
    await server.kill();
    await expect(createLocks({ connection: server.url })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringMatching(/^The "connection" of createLocks cannot be used: .*ECONNREFUSED/) as string,
    });
  });

  it('reports a server that dies, and works again after its return', async () => {
    const server = await startRedisServer();
    const lines: string[] = [];
    const write = (line: string): void => void lines.push(line);
    const locks = await open({ connection: server.url, log: { debug: () => undefined, log: write, warn: write } });
    const events: LockEvent[] = [];
    locks.events.listen((event) => events.push(event));
    await server.kill();
    await expect(locks.acquire('a')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await server.restart();
    await eventually(async () => (await locks.acquire('a')).release(), 10_000);
    await eventually(() => expect(lines.at(-1)).toContain('works again'));
    expect(lines[0]).toContain(`${server.port}`);
    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set(['refused', 'disconnected', 'reconnected', 'acquired', 'released']),
    );
  });
});

describe('Option "log"', () => {
  const ignore = (): void => undefined;

  it('must have each method', async () => {
    const log = { debug: ignore, warn: ignore, info: ignore } as unknown as CreateLocksOptions['log'] & object;
    await expect(createLocks({ connection: 'memory', log })).rejects.toThrow('has no method log()');
  });

  it('prevents no close when it fails', async () => {
    const fail = (): void => {
      throw new Error('the stream is closed');
    };
    const locks = await open({ log: { debug: ignore, log: fail, warn: fail } });
    const lease = await locks.acquire(newKey());
    await locks.close();
    expect(lease.isHeld()).toBe(false);
    await expect(locks.acquire(newKey())).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
  });
});

describe('Option "credentials"', () => {
  // Otherwise the process ends with code 0 or 13, and looks successful or unfinished.
  it.each(['throws', 'hangs'])('rejects the start when it %s, and the process ends afterwards', async (CREDENTIALS) => {
    const child = startProcess(new URL('failing-credentials.child.ts', import.meta.url), {
      REDIS_URL: redis.url,
      CREDENTIALS,
    });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.output.trim()).toBe('LOCK_UNAVAILABLE');
  });
});

describe('close', () => {
  it('runs at the end of a block with `await using`, and ends waits and leases', async () => {
    let outer: OpenedLocks;
    const key = newKey();
    let waiting: Promise<unknown>;
    {
      await using locks = await open();
      outer = locks;
      await locks.acquire(key);
      waiting = locks.acquire(key, { wait: '30s' }).catch((error: Error) => error);
      await eventually(async () => expect(await locks.inspect(key)).toMatchObject({ held: true }));
    }
    expect(await waiting).toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await expect(outer.acquire(newKey())).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await outer.close();
    await eventually(async () => expect(await redis.client.exists(`${redis.prefix}${key}`)).toBe(0));
  });

  it('waits for held leases', async () => {
    const locks = await open({ drainTimeout: '30s' });
    const lease = await locks.acquire(newKey());
    let closed = false;
    const closing = locks.close().then(() => (closed = true));
    // Real time: a slow machine only closes later.
    await delay(50);
    expect(closed).toBe(false);
    await lease.release();
    await closing;
  });

  it('leaves a client of the application open', async () => {
    const client = new Redis(redis.url);
    onCleanup(() => client.disconnect());
    const locks = await open({ connection: client });
    await locks.withLock(newKey(), () => undefined);
    await locks.close();
    expect(await client.ping()).toBe('PONG');
  });

  it('lets the process end by itself, which has loaded no package of Nest and has no signal handlers', async () => {
    const child = startProcess(new URL('plain-program.child.ts', import.meta.url), {
      REDIS_URL: redis.url,
      PREFIX: redis.prefix,
    });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(JSON.parse(child.output)).toEqual({ ran: true, signalHandlers: 0, loaded: ['ioredis', 'ms'] });
  });
});
