import { Redis } from 'ioredis';

import {
  MEMBERS,
  NO_PLACE,
  NO_VOTE,
  OTHER_COUNT,
} from '../../libs/distribute-lock/src/store/lua/generated/reply-codes.js';
import { type NodeReply, openMember } from '../../libs/distribute-lock/src/store/quorum/node-connection.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { NodeModel } from '../simulation/quorum/node-model.js';
import { Random } from '../simulation/random.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';

const SEQUENCES = 300;
const STEPS = 15;
/** Tolerances: a busy machine delays the two sides differently. */
const NEAR = { left: 5_000, clock: 10_000_000 };

const processId = (letter: string): string => letter.repeat(22);
const HEARING = processId('h');
const OWNERS = [HEARING, processId('g')].flatMap((id) => [`${id}:1`, `${id}:2`]);

type Words = readonly (string | number)[];

function step(random: Random, far: number): Words {
  const owner = random.pick(OWNERS);
  const token = random.chance(0.7) ? owner : `${owner}R${random.int(1, 2)}`;
  const kind = random.next();
  const first = far + random.int(0, 60);
  if (kind < 0.5) return [random.pick(['a', 'w']), token, owner, random.int(60_000, 120_000), random.int(1, 9)];
  if (kind < 0.65) return ['f', token, owner, first, first + random.int(0, 9)];
  if (kind < 0.9) return ['d', token, owner, random.int(0, 1), random.pick(['-', ...OWNERS])];
  return [random.pick(['n', 'l']), token, owner, random.int(60_000, 120_000), random.chance(0.3) ? 0 : first];
}

/** The words of a process with a list of three or five nodes that knows some of their ids. */
function members(random: Random): Words {
  const ids = Array.from({ length: 6 }, (_, i) => processId(String(i)));
  const others = ids.filter(() => random.chance(0.4));
  return ['m', random.chance(0.9) ? 3 : 5, random.int(60_000, 120_000), random.int(0, 1), random.pick(ids), ...others];
}

/** Exact except for the values that depend on a clock. */
function alike(words: Words, real: NodeReply, model: NodeReply): boolean {
  const [code, x, y] = real;
  if (code !== model[0] || y !== model[2]) return false;
  const isAttempt = words[0] === 'a' || words[0] === 'w';
  return Math.abs(x - model[1]) <= (isAttempt ? (code === NO_VOTE ? NEAR.left : NEAR.clock) : 0);
}

describe('The model of a node', () => {
  const redis = useRedis();
  const { connection } = openMember(redis.url, redis.prefix);
  onCleanup(() => connection.close());

  it(`sends the same replies and messages as quorum.lua, in ${SEQUENCES} sequences`, async () => {
    const [received, reported]: [string[], string[]] = [[], []];
    const hearing = new Redis(redis.url);
    onCleanup(() => hearing.disconnect());
    await hearing.subscribe(new RedisKeys(redis.prefix).channel(HEARING));
    hearing.on('message', (_, text: string) => received.push(text));
    const model = new NodeModel({
      now: () => Date.now(),
      publish: (id, { type, key, ownerToken }) => {
        if (id !== HEARING) return 0;
        reported.push(`${type === 'granted' ? 'g' : 'c'} ${ownerToken} ${redis.prefix}${key}`);
        return 1;
      },
    });
    await connection.whenReady(5_000);
    const codes = new Set<string>();
    for (let seed = 1; seed <= SEQUENCES; seed += 1) {
      const random = new Random(seed);
      // Ahead of the clock, so that fencing tokens do not depend on it.
      const far = (Date.now() + 3_600_000) * 1_000;
      for (let i = 0; i < STEPS; i += 1) {
        const words = step(random, far);
        const real = await connection.run(`k${seed}`, words, () => true);
        const expected = model.run(`k${seed}`, words);
        codes.add(`${words[0]}${real[0]}`);
        if (!alike(words, real, expected))
          throw new Error(`${seed}: ${words.join(' ')} -> ${real.join(' ')}, not ${expected.join(' ')}`);
      }
    }
    await eventually(() => expect(received).toHaveLength(reported.length));
    expect(received).toEqual(reported);
    expect([...codes].sort().join(' ')).toBe('a0 a1 a2 d0 d1 f0 f1 f2 l0 l1 n0 n1 w0 w1 w2');
  });

  it(`keeps the same record of members as members.lua, in ${SEQUENCES} sequences`, async () => {
    const admin = new Redis(redis.url);
    onCleanup(() => admin.disconnect());
    const model = new NodeModel({ now: () => Date.now(), publish: () => 0 });
    const codes = new Set<number>();
    for (let seed = 1; seed <= SEQUENCES; seed += 1) {
      const random = new Random(seed);
      await admin.del(new RedisKeys(redis.prefix).members);
      model.forget();
      for (let i = 0; i < STEPS; i += 1) {
        const words = members(random);
        const [code, x, y] = await connection.run('', words, () => true);
        const expected = model.run('', words);
        codes.add(code);
        expect([code, y]).toEqual([expected[0], expected[2]]);
        expect(Math.abs(x - expected[1])).toBeLessThan(NEAR.left);
      }
    }
    expect(codes).toEqual(new Set([MEMBERS, NO_PLACE, OTHER_COUNT]));
  });
});
