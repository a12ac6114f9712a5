import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const world = useLockWorld();

/** Long enough for a message to arrive and for the command that it causes. */
const EFFECT_MS = 300;

/** A client that may publish to every inbox and list the channels, but may not read keys. */
async function publisher(): Promise<Redis> {
  await world.client.call(
    'ACL',
    'SETUSER',
    'publisher',
    'on',
    'nopass',
    'resetkeys',
    'allchannels',
    '-@all',
    '+@pubsub',
  );
  const client = new Redis({
    port: world.server.port,
    username: 'publisher',
    password: 'any',
    enableReadyCheck: false,
  });
  onCleanup(() => client.disconnect());
  return client;
}

/** Publishes the texts to every inbox, for each process id. */
async function publishToAll(textFor: (id: string) => readonly string[]): Promise<void> {
  const client = await publisher();
  const channels = (await client.pubsub('CHANNELS', 'nestjs-lock:*')) as string[];
  expect(channels.length).toBeGreaterThan(0);
  for (const channel of channels) {
    const texts = textFor(channel.slice(channel.lastIndexOf(':') + 1));
    await Promise.all(texts.map((text) => client.publish(channel, text)));
  }
  await sleep(EFFECT_MS);
}

describe('A forged message (P22)', () => {
  it('is counted in one event', async () => {
    const { acquire, events } = world.locks();
    const lease = await acquire(world.newKey(), { ttl: '20s' });
    await publishToAll(() => Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? 'rubbish' : `c readers ${PREFIX}x`)));
    await eventually(() => expect(events.filter(({ type }) => type === 'degraded')).toHaveLength(1));
    expect(events.find(({ type }) => type === 'degraded')?.error?.message).toContain('50 messages were dropped');
    await lease.release();
  });

  it('does not delete the key of readers', async () => {
    const [reader, other] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await reader.acquire(key, { kind: 'read', ttl: '20s' });
    await (await other.acquire(world.newKey(), { ttl: '20s', wait: '1s' })).release();
    await publishToAll(() => ['c', 'g', 'v'].map((word) => `${word} readers ${PREFIX}${key}`));
    expect(await world.owner(key)).toBe('readers');
    await lease.release();
  });

  it('does not delete the key of a semaphore', async () => {
    const holder = world.locks();
    const key = world.newKey();
    const lease = await holder.acquire(key, { kind: 'semaphore', permits: 2, ttl: '20s' });
    await publishToAll(() => [`c semaphore:2 ${PREFIX}${key}`]);
    expect(await world.owner(key)).toBe('semaphore:2');
    await lease.release();
  });

  it('does not delete the key of a client that does not use this package', async () => {
    const own = await world.locks().acquire(world.newKey(), { ttl: '20s' });
    const key = world.newKey();
    await world.client.set(PREFIX + key, 'a-foreign-value');
    await publishToAll(() => ['c', 'g', 'g5', 'v'].map((word) => `${word} a-foreign-value ${PREFIX}${key}`));
    expect(await world.owner(key)).toBe('a-foreign-value');
    await world.client.del(PREFIX + key);
    await own.release();
  });

  it('does not make a process delete the lock of another process, also with its owner token', async () => {
    const [holder, other] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '20s' });
    const own = await other.acquire(world.newKey(), { ttl: '20s' });
    const token = await world.owner(key);
    const channels = (await world.client.pubsub('CHANNELS', 'nestjs-lock:*')) as string[];
    const foreign = channels.filter((name) => !token!.startsWith(name.slice(name.lastIndexOf(':') + 1)));
    for (const channel of foreign) {
      for (const word of ['c', 'g', 'v']) await world.client.publish(channel, `${word} ${token} ${PREFIX}${key}`);
    }
    await sleep(EFFECT_MS);
    expect(await world.owner(key)).toBe(token);
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    await own.release();
  });

  it.each(['g5', 'g99999999999999999999', 'g', 'v'])('does not start a waiter or end a lease (%s)', async (word) => {
    const [holder, waiter] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '20s' });
    const started: number[] = [];
    const waits = waiter.acquire(key, { ttl: '20s', wait: '10s' }).then((next) => {
      started.push(next.fencingToken);
      return next;
    });
    await sleep(100);
    const tokens = (id: string): string[] => Array.from({ length: 40 }, (_, i) => `${id}:${(i + 1).toString(36)}`);
    await publishToAll((id) => tokens(id).map((token) => `${word} ${token} ${PREFIX}${key}`));
    expect(started).toEqual([]);
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    const next = await waits;
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    expect(Number.isSafeInteger(next.fencingToken)).toBe(true);
    await next.release();
  });
});

describe('A client that publishes and reads keys', () => {
  const firstQueued = (name: string): Promise<string> =>
    eventually(async () => {
      const [token] = await world.client.zrange(name, '0', '-1');
      expect(token).toBeDefined();
      return token;
    });

  it('cannot start a waiter', async () => {
    const [holder, waiter] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '20s' });
    let started = false;
    const waits = waiter.acquire(key, { ttl: '20s', wait: '10s' }).finally(() => (started = true));
    const token = await firstQueued(world.queueOf(key));
    for (const word of ['g5', 'g5+', 'g5x16', 'g']) await publishToAll(() => [`${word} ${token} ${PREFIX}${key}`]);
    expect(started).toBe(false);
    await lease.release();
    await (await waits).release();
  });

  it('cannot start a waiter for a permit', async () => {
    const [holder, waiter] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await holder.acquire(key, { kind: 'semaphore', permits: 1, ttl: '20s' });
    let started = false;
    const waits = waiter.acquire(key, { kind: 'semaphore', permits: 1, ttl: '20s', wait: '10s' });
    void waits.finally(() => (started = true));
    const token = await firstQueued(`sq1:{${PREFIX}${key}}`);
    for (const word of ['g5+', 'g']) await publishToAll(() => [`${word} ${token} ${PREFIX}${key}`]);
    expect(started).toBe(false);
    await lease.release();
    await (await waits).release();
  });

  it('cannot end a lease, while an operator still can', async () => {
    const [holder, operator] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '20s', renew: false });
    const token = (await world.owner(key))!;
    await publishToAll(() => [`v ${token} ${PREFIX}${key}`]);
    expect([lease.isHeld(), await world.owner(key)]).toEqual([true, token]);
    await operator.engine.forceRelease(key);
    await eventually(() => expect(lease.isHeld()).toBe(false), 1_000);
    expect(lease.signal.reason).toMatchObject({ reason: 'forced' });
  });
});

describe('A late offer', () => {
  it('to a caller that has left is released at once', async () => {
    const [locks, other] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await locks.acquire(key, { ttl: '20s' });
    const token = (await world.owner(key))!;
    await lease.release();
    await world.client.set(PREFIX + key, token, 'PX', 20_000);
    const channels = (await world.client.pubsub('CHANNELS', 'nestjs-lock:*')) as string[];
    const inbox = channels.find((name) => token.startsWith(name.slice(name.lastIndexOf(':') + 1)))!;
    await world.client.publish(inbox, `g ${token} ${PREFIX}${key}`);
    await (await other.acquire(key, { ttl: '20s', wait: '2s' })).release();
  });
});
