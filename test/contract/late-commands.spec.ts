import { Redis } from 'ioredis';

import {
  lockScript,
  quorumScript,
  readwriteScript,
  semaphoreScript,
  multiKeyScript,
} from '../../libs/distribute-lock/src/store/generated/lua-scripts.js';
import type { LuaScript } from '../../libs/distribute-lock/src/store/lua-script.js';
import { TOO_LATE } from '../../libs/distribute-lock/src/store/protocol/reply-codes.js';
import { onCleanup } from '../support/cleanup.js';
import { startRedisServer } from '../support/redis-server.js';

/** A deadline that has passed on every server. */
const PAST = 1;
const FUTURE = 9_999_999_999_999;
const PROCESS = 'ProcessNumberOne------';
const OTHER = 'ProcessNumberTwo------';
const TOKEN = `${PROCESS}:1`;
const NEXT = `${PROCESS}:2`;
const WAITER = `${OTHER}:1`;
const weighted = (token: string): string => `${token}P1:1`;

const keysOf: Readonly<Record<string, readonly string[]>> = {
  lock: ['fence', 'lock', 'queue'],
  readwrite: ['fence', 'lock', 'queue', 'readers', 'gate'],
  semaphore: ['fence', 'lock', 'held', 'queue', 'places'],
  'multi-key': ['fence', 'lock', 'queue', 'lock2', 'queue2'],
  quorum: ['lock', 'queue', 'fence'],
};

describe('A command whose deadline has passed', () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = new Redis((await startRedisServer()).url);
    onCleanup(() => redis.disconnect());
  });
  beforeEach(() => redis.flushall());

  const run = (script: LuaScript, ...words: (string | number)[]): Promise<unknown> => {
    const keys = keysOf[script.name];
    return redis.eval(script.lua, keys.length, ...keys, ...words);
  };

  it.each([
    [lockScript, [`a ${TOKEN} 30000 1 ${PAST} +`]],
    [lockScript, [`a ${TOKEN} 30000 1 ${PAST}`]],
    [lockScript, [`w ${TOKEN} 30000 1 ${PAST}`]],
    [readwriteScript, [`a ${TOKEN} 30000 1 ${PAST}`]],
    [readwriteScript, [`w ${TOKEN}:r 30000 1 ${PAST}`]],
    [readwriteScript, [`s ${TOKEN} 30000 1 ${PAST}`]],
    [semaphoreScript, [`a ${weighted(TOKEN)} 30000 1 ${PAST}`]],
    [multiKeyScript, [`30000 ${PAST} ${TOKEN} ${NEXT}`]],
    [quorumScript, ['a', TOKEN, TOKEN, 30_000, 1, PAST]],
    [quorumScript, ['w', TOKEN, TOKEN, 30_000, 1, PAST]],
  ] as const)('leaves a free lock free, and reports the clock: %s %j', async (script, words) => {
    const before = Date.now();

    const [code, clock] = (await run(script, ...words)) as [number, number];

    expect(code).toBe(TOO_LATE);
    expect(clock).toBeGreaterThanOrEqual(before);
    expect(clock).toBeLessThanOrEqual(Date.now());
    expect(await redis.keys('*')).toEqual([]);
  });

  it('has no effect beside commands of the same call that are in time', async () => {
    const keys = ['fence', 'lock', 'queue', 'lock2', 'queue2'];
    const words = [`a ${TOKEN} 30000 1 ${PAST}`, `a ${NEXT} 30000 1 ${FUTURE}`];

    const replies = (await redis.eval(lockScript.lua, keys.length, ...keys, ...words)) as number[];

    expect([replies[0], replies[3]]).toEqual([TOO_LATE, 1]);
    expect(await redis.mget('lock', 'lock2')).toEqual([null, NEXT]);
  });

  it.each([
    [lockScript, `w ${WAITER} 30000 1 ${PAST}`],
    [readwriteScript, `w ${WAITER} 30000 1 ${PAST}`],
  ])('takes no place in the queue: %s', async (script, late) => {
    await run(script, `a ${TOKEN} 30000 1 0`);

    await run(script, late);

    expect(await redis.exists('queue')).toBe(0);
  });

  it.each([
    ['lock', lockScript, TOKEN, NEXT],
    ['readwrite', readwriteScript, TOKEN, NEXT],
    ['semaphore', semaphoreScript, weighted(TOKEN), weighted(NEXT)],
  ] as const)('releases the lock, and acquires it for no other token: %s', async (_, script, token, next) => {
    await run(script, `a ${token} 30000 1 ${FUTURE}`);

    const reply = await run(script, `r ${token} ${next} 30000 1 ${PAST}`);

    expect(reply).toEqual([4, 0, 0]);
    expect(await redis.exists('lock', 'queue')).toBe(0);
  });

  it('does not queue the next token of a release on a node of a quorum', async () => {
    await run(quorumScript, 'a', TOKEN, TOKEN, 30_000, 1, FUTURE);

    expect(await run(quorumScript, 'd', TOKEN, TOKEN, '1', NEXT, PAST)).toEqual([1, 0, 0]);

    expect(await redis.exists('lock', 'queue')).toBe(0);
  });

  it('changes nothing as a downgrade that is executed after the undo of both tokens', async () => {
    await run(readwriteScript, `a ${TOKEN} 30000 1 0`);
    await run(readwriteScript, `d ${TOKEN}:r`);
    await run(readwriteScript, `d ${TOKEN}`);

    expect(await run(readwriteScript, `g ${TOKEN} 30000 ${TOKEN}:r`)).toEqual([6, 0, 0]);

    expect(await redis.exists('lock', 'readers')).toBe(0);
  });
});
