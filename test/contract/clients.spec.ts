import { randomBytes } from 'node:crypto';
import { tracingChannel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';

import { Redis, type RedisOptions } from 'ioredis';

import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { takesWritten } from '../../libs/distribute-lock/src/store/redis/written-command.js';
import { onCleanup } from '../support/cleanup.js';
import { testPrefix, useRedis } from '../support/use-redis.js';

const TTL = 20_000;

describe('A client of the application', () => {
  const prefix = testPrefix();
  const { url, client: outside } = useRedis(prefix);
  const names = new RedisKeys(prefix);
  const newToken = (): string => `${randomBytes(16).toString('base64url')}:1`;

  function over(options: RedisOptions) {
    const client = new Redis(url, options);
    onCleanup(() => client.disconnect());
    const store = RedisLockStore.open(client, { prefix });
    onCleanup(() => store.close());
    const ask = (key: string, ownerToken: string) =>
      store.acquire({ key, ownerToken, ttlMs: TTL, wait: false, block: 1 });
    const giveBack = (key: string, ownerToken: string) => store.release({ key, ownerToken });
    return { client, store, ask, giveBack };
  }

  // The keys have more bytes than characters, and half of a surrogate pair would be another key.
  const KEYS = ['ascii', 'schlüssel', '鍵', 'lock-🔒'];

  it.each<[string, RedisOptions]>([
    ['works with default options', {}],
    ['works with RESP2', { protocol: 2 }],
    ['works with a time limit for each command', { commandTimeout: 5_000 }],
    ['works with automatic pipelining', { enableAutoPipelining: true }],
    ['works with friendly error stacks', { showFriendlyErrorStack: true }],
    ['works with numbers as text', { stringNumbers: true }],
    ['works with a key prefix', { keyPrefix: prefix }],
  ])('%s', async (_, options) => {
    const { client, store, ask, giveBack } = over(options);
    expect(takesWritten(client)).toBe(true);
    const outer = options.keyPrefix ?? '';
    const tokens = new Map(KEYS.map((key) => [key, newToken()]));
    const inRedis = (): Promise<(string | null)[]> =>
      Promise.all(KEYS.map((key) => outside.get(outer + names.lock(key))));

    const answers = await Promise.all(KEYS.map((key) => ask(key, tokens.get(key)!)));
    expect(answers.map(({ outcome }) => outcome)).toEqual(KEYS.map(() => 'granted'));
    expect(await inRedis()).toEqual([...tokens.values()]);
    for (const key of KEYS) expect(await giveBack(key, tokens.get(key)!)).toEqual({ outcome: 'free' });
    expect(await inRedis()).toEqual(KEYS.map(() => null));

    for (const key of KEYS) expect(await ask(key, tokens.get(key)!)).toMatchObject({ outcome: 'granted' });
    expect(await ask('ascii', newToken())).toMatchObject({ outcome: 'busy', foreign: false });
    const next = { ownerToken: newToken(), ttlMs: TTL, block: 1 };
    const passed = await store.release({ key: 'ascii', ownerToken: tokens.get('ascii')!, next });
    expect(passed).toMatchObject({ outcome: 'granted', ownerToken: next.ownerToken });
    tokens.set('ascii', next.ownerToken);
    await Promise.all(KEYS.map((key) => giveBack(key, tokens.get(key)!)));
    expect(await inRedis()).toEqual(KEYS.map(() => null));
  });

  it('works with numbers as text for WAIT, inspect() and force()', async () => {
    const { client, store } = over({ stringNumbers: true });
    const ownerToken = newToken();
    const request = { ownerToken, ttlMs: TTL, wait: false, block: 1 };
    const [nobodyNeeded, oneNeeded] = [0, 1].map((replicas) => {
      const durable = RedisLockStore.open(client, { prefix, durability: { replicas, timeoutMs: 50 } });
      onCleanup(() => durable.close());
      return durable;
    });
    const granted = await nobodyNeeded.acquire({ ...request, key: 'acknowledged' });
    expect(granted).toEqual({ outcome: 'granted', fencingToken: expect.any(Number), waiting: 0 });
    const refused = Promise.resolve(oneNeeded.acquire({ ...request, key: 'not-acknowledged' }));
    await expect(refused).rejects.toMatchObject({ name: 'LockStoreError', replicas: 0 });

    expect(await store.inspect('acknowledged')).toMatchObject({ holders: [ownerToken], waiting: 0 });
    await outside.set(names.lock('foreign'), 'x');
    expect(await store.force('foreign')).toBe(true);
  });

  it('delivers a reply to an await that starts after the reply has arrived', async () => {
    const { client, ask } = over({});
    const granted = ask('awaited-late', newToken());
    await client.ping();
    await client.ping();
    expect(await granted).toMatchObject({ outcome: 'granted' });
    expect(await granted).toMatchObject({ outcome: 'granted' });

    client.disconnect();
    await once(client, 'end');
    const failed = ask('awaited-late', newToken());
    await setImmediate();
    await expect(Promise.resolve(failed)).rejects.toMatchObject({ name: 'LockStoreError' });
  });

  it('shows its commands to subscribers of the tracing channel', async () => {
    const traced: { command: string; args: readonly string[] }[] = [];
    const seen: unknown[] = [];
    const subscriber = {
      start: (context: object) => void traced.push(context as (typeof traced)[number]),
      asyncEnd: (context: object) => void seen.push((context as { result?: unknown }).result),
      end: () => undefined,
      asyncStart: () => undefined,
      error: () => undefined,
    };
    const channel = tracingChannel('ioredis:command');
    channel.subscribe(subscriber);
    onCleanup(() => channel.unsubscribe(subscriber));

    const { ask } = over({});
    await ask('traced', newToken());
    const calls = traced.filter(({ args }) => args.includes(names.lock('traced')));
    expect(calls.length).toBeGreaterThan(0);
    expect(seen).toContainEqual(expect.any(Number));
  });
});
