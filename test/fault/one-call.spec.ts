import { randomBytes } from 'node:crypto';

import type { AcquireAnswer } from '../../libs/distribute-lock/src/store/lock-store.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const TTL = 20_000;

describe('Commands in one script call', () => {
  const names = new RedisKeys(PREFIX);
  const world = useLockWorld();
  let store: RedisLockStore;
  beforeAll(() => {
    store = RedisLockStore.open(world.server.url, { prefix: PREFIX });
    onCleanup(() => store.close());
  });
  const process = randomBytes(16).toString('base64url');
  const stranger = `${randomBytes(16).toString('base64url')}:1`;
  let tokens = 0;
  const newToken = (): string => `${process}:${(tokens += 1).toString(36)}`;
  const ask = (key: string, ownerToken: string, { block = 1, wait = false } = {}) =>
    store.acquire({ key, ownerToken, ttlMs: TTL, wait, block });
  const giveBack = (key: string, ownerToken: string) => store.release({ key, ownerToken });
  const numbers = (answer: AcquireAnswer, block: number): number[] => {
    if (answer.outcome !== 'granted') throw new Error(`Expected a grant, but the outcome is ${answer.outcome}`);
    return Array.from({ length: block }, (_, i) => answer.fencingToken + i);
  };

  it('have separate fencing tokens, which rise from call to call', async () => {
    // The counter is ahead of the clock, because the clock alone would separate the calls.
    await world.client.set(names.fence, `${Date.now() + 60_000}000`);
    const blocks = [1, 3, 1, 64, 2];
    const issued: number[] = [];
    for (const round of ['once', 'again', 'and alone']) {
      const some = round === 'and alone' ? [1] : blocks;
      const answers = await Promise.all(some.map((block, i) => ask(`${round}-${i}`, newToken(), { block })));
      issued.push(...answers.flatMap((answer, i) => numbers(answer, some[i])));
    }
    expect(issued).toEqual([...new Set(issued)].sort((one, other) => one - other));
  });

  it('leave no key behind when all were released', async () => {
    const mine = Array.from({ length: 40 }, (_, i) => [`given-back-${i}`, newToken()] as const);
    await Promise.all(mine.map(([key, token]) => ask(key, token)));
    const answers = await Promise.all(mine.map(([key, token]) => giveBack(key, token)));
    expect(answers.every(({ outcome }) => outcome === 'free')).toBe(true);
    expect(await world.client.keys('*given-back*')).toEqual([]);
  });

  it('are served beside one whose lock another process holds', async () => {
    await world.client.set(names.lock('taken'), stranger, 'PX', TTL);
    const before = newToken();
    await ask('before', before);
    const answers = await Promise.all([
      giveBack('before', before),
      ask('first', newToken()),
      ask('taken', newToken()),
      giveBack('taken', newToken()),
      ask('last', newToken(), { block: 3 }),
    ]);
    expect(answers.map(({ outcome }) => outcome)).toEqual(['free', 'granted', 'busy', 'lost', 'granted']);
    const [, first, , , last] = answers as AcquireAnswer[];
    expect(numbers(last, 3)[0]).toBeGreaterThan(numbers(first, 1)[0]);
    expect(await world.client.get(names.lock('taken'))).toBe(stranger);
  });

  it('are served beside one that the server refuses', async () => {
    await world.client.rpush(names.lock('a list'), 'x');
    const [one, refused, other] = await Promise.allSettled([
      ask('beside-1', newToken()),
      giveBack('a list', newToken()),
      ask('beside-2', newToken()),
    ]);
    expect([one.status, refused.status, other.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('do not overtake a waiter of a free lock', async () => {
    await world.client.zadd(names.queue(names.lock('waited-for')), 1, `${process}:waiter`);
    // An offer needs a subscriber.
    await store.subscribe(process, { message: () => undefined, resubscribed: () => undefined });
    // The first command may leave in a separate call.
    const answers = await Promise.all([
      ask('not-waited-for', newToken()),
      ask('waited-for', newToken(), { wait: true }),
      ask('nor-this', newToken()),
    ]);
    expect(answers.map(({ outcome }) => outcome)).toEqual(['granted', 'queued', 'granted']);
    expect(await world.client.get(names.lock('waited-for'))).toBe(`${process}:waiter`);
  });

  it('follow each other when they share one key', async () => {
    const [one, other] = [newToken(), newToken()];
    await ask('the-same', one);
    const answers = await Promise.all([
      giveBack('the-same', one),
      ask('the-same', other),
      giveBack('the-same', one),
      giveBack('the-same', other),
      giveBack('the-same', other),
    ]);
    expect(answers.map(({ outcome }) => outcome)).toEqual(['free', 'granted', 'lost', 'free', 'lost']);
  });

  it('are all refused when too few replicas acknowledge them', async () => {
    const durable = RedisLockStore.open(world.server.url, {
      prefix: PREFIX,
      durability: { replicas: 1, timeoutMs: 50 },
    });
    onCleanup(() => durable.close());
    const calls = ['durable-1', 'durable-2'].map((key) =>
      durable.acquire({ key, ownerToken: newToken(), ttlMs: TTL, wait: false, block: 1 }),
    );
    for (const refused of await Promise.allSettled(calls)) {
      expect(refused).toMatchObject({ status: 'rejected', reason: { name: 'LockStoreError', replicas: 0 } });
    }
  });
});
