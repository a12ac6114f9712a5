import { Redis } from 'ioredis';

import { MemoryLocks } from '../../libs/distribute-lock/src/store/memory/memory-locks.js';
import { MemoryServer, type ServerError } from '../../libs/distribute-lock/src/store/memory/memory-server.js';
import { Random } from '../simulation/random.js';
import { startRedisServer } from '../support/redis-server.js';
import { runsOf } from '../support/runs.js';
import { inBatches, runInMemory, runnerIn } from './rules/sequences.js';
import type { Step } from './rules/steps.js';

type Value = string | number;
type Command = readonly [name: string, ...args: Value[]];

const { numRuns: SEQUENCES, seed = Date.now() % 1_000_000 } = runsOf('the memory server and Redis', 20_000);
const COMMANDS = 40;
const BEGIN = 1_700_000_000_000;
const KEYS = ['key-1', 'key-2', 'key-3', 'key-4'];
const CHANNELS = ['nestjs-lock:1:one:AAAAAAAAAAA', 'nestjs-lock:1:one:BBBBBBBBBBB'];
const SCORES = [-2, -1, 0, 0.1, 1, 2, 3, 1.5, 1_700_000_000_123.25];
const VALUES = ['x', '7', '-3', '1.5', '', '01', '9007199254740993', '9223372036854775807', '9223372036854775808'];
const STEPS = [1, 1, 5, -2, '9007199254740993', '9223372036854775807', '-9223372036854775808', '1.5', 'x'];
const TIMES = [-3, -1, 0, 1, 2, 3, 5, 8, 100];

/** Writes random commands for few keys and members, so that types, members and ends collide. */
class Commands {
  private now = BEGIN;

  constructor(
    private readonly random: Random,
    private readonly keys: readonly string[],
    private readonly members: number,
  ) {}

  next(): Step {
    const { random } = this;
    if (random.chance(0.1)) return this.pass();
    if (random.chance(0.01)) return { receivers: { AAAAAAAAAAA: random.int(-1, 2) } };
    const command = random.pick(this.kinds)();
    return { foreign: command.map((word) => (typeof word === 'number' && random.chance(0.5) ? String(word) : word)) };
  }

  private readonly key = () => this.random.pick(this.keys);
  private readonly member = () => `m${this.random.int(1, this.members)}`;
  private readonly time = () => this.random.pick(TIMES);
  private readonly score = () => this.random.pick(SCORES);
  private readonly index = () => this.random.int(-6, 6);
  private readonly limit = () => (this.random.chance(0.4) ? ['LIMIT', 0, this.random.int(0, 4)] : []);

  private readonly kinds: readonly (() => Command)[] = [
    () => ['GET', this.key()],
    ...this.often(5, (): Command => ['SET', this.key(), this.random.pick(VALUES), ...this.setOptions()]),
    () => [this.random.pick(['DEL', 'UNLINK', 'EXISTS']), ...this.several(this.key)],
    () => [this.random.pick(['PTTL', 'EXISTS', 'ZCARD']), this.key()],
    () => ['PEXPIRE', this.key(), this.random.chance(0.05) ? '1.5' : this.time()],
    ...this.often(3, (): Command => ['PEXPIREAT', this.key(), this.now + this.time(), ...this.some('GT', 0.6)]),
    () => ['INCRBY', this.key(), this.random.pick(STEPS)],
    ...this.often(8, (): Command => ['ZADD', this.key(), ...this.addOptions(), this.score(), this.member()]),
    () => ['ZREM', this.key(), ...this.several(this.member)],
    () => ['ZSCORE', this.key(), this.member()],
    () => ['ZPOPMIN', this.key()],
    ...this.often(2, (): Command => [
      'ZRANGE',
      this.key(),
      this.index(),
      this.index(),
      ...this.some('WITHSCORES', 0.5),
    ]),
    ...this.often(4, (): Command => ['ZRANGE', this.key(), this.bound(), this.bound(), ...this.rangeOptions()]),
    ...this.often(2, (): Command => ['ZRANGEBYSCORE', this.key(), ...this.between(), ...this.limit()]),
    () => ['ZREMRANGEBYSCORE', this.key(), ...this.between()],
    () => [this.random.pick(['PUBLISH', 'SPUBLISH']), this.random.pick(CHANNELS), this.member()],
    () => ['TIME'],
  ];

  private pass(): Step {
    const advanceMs = this.random.pick([1, 1, 1, 2, 3, 5]);
    this.now += advanceMs;
    return { advanceMs };
  }

  private often(times: number, command: () => Command): (() => Command)[] {
    return Array.from({ length: times }, () => command);
  }

  private some(option: string, share: number): string[] {
    return this.random.chance(share) ? [option] : [];
  }

  private several(word: () => string): string[] {
    return Array.from({ length: this.random.int(1, 3) }, word);
  }

  private setOptions(): Value[] {
    const { random } = this;
    const odd = random.chance(0.05);
    const ms = odd ? random.pick(['1.5', 'x', -3, 0]) : Math.max(1, this.time());
    const at = odd ? -5 : this.now + this.time();
    return random.pick([[], ['GET'], ['KEEPTTL'], ['NX', 'PX', ms], ['PX', ms], ['PX', ms, 'GET'], ['PXAT', at]]);
  }

  private addOptions(): string[] {
    return this.random.pick([[], [], ['NX'], ['GT'], ['GT']]);
  }

  private bound(): Value {
    const { random } = this;
    if (random.chance(0.2)) return random.pick(['-inf', '+inf', 'inf']);
    if (random.chance(0.02)) return 'x';
    const score = random.pick(SCORES);
    return random.chance(0.4) ? `(${score}` : score;
  }

  private between(): [Value, Value] {
    const [a, b] = [this.bound(), this.bound()];
    const value = (bound: Value) => Number(String(bound).replace('(', '').replace('inf', 'Infinity'));
    return value(a) > value(b) && this.random.chance(0.8) ? [b, a] : [a, b];
  }

  private rangeOptions(): Value[] {
    return ['BYSCORE', ...this.some('REV', 0.4), ...this.limit(), ...this.some('WITHSCORES', 0.5)];
  }
}

const keepsSetsLarge = (step: Step): boolean => 'foreign' in step && /^Z(?!REMRANGE)/.test(String(step.foreign[0]));

describe('MemoryServer', () => {
  let redis: Redis;
  let runInRedis: Awaited<ReturnType<typeof runnerIn>>;

  beforeAll(async () => {
    redis = new Redis((await startRedisServer()).url);
    runInRedis = await runnerIn(redis, {});
  });

  afterAll(() => redis.quit());

  async function compare(of: number, steps: readonly Step[], dumpEvery: number): Promise<void> {
    const sequence = { startMs: BEGIN, micros: 750, steps, dumpEvery };
    const expected = await runInRedis(sequence);
    const actual = runInMemory(sequence);
    const at = expected.findIndex((line, i) => line !== actual[i]);
    const difference = { seed: of, at, step: steps[at] };
    if (at >= 0) expect({ ...difference, line: actual[at] }).toEqual({ ...difference, line: expected[at] });
    expect(actual).toHaveLength(expected.length);
  }

  it(`replies as Redis does, and keeps the same data, in ${SEQUENCES} sequences of commands`, async () => {
    await inBatches(SEQUENCES, (number) => {
      const of = seed * 100_000 + number;
      const source = new Commands(new Random(of), KEYS, 5);
      return compare(
        of,
        Array.from({ length: COMMANDS }, () => source.next()),
        1,
      );
    });
  }, 300_000);

  it('replies as Redis does when its sets are large', async () => {
    for (let of = seed; of < seed + 10; of += 1) {
      const source = new Commands(new Random(of), KEYS.slice(0, 1), 500);
      const steps = Array.from({ length: 8_000 }, () => source.next());
      await compare(of, steps.filter(keepsSetsLarge), 100);
    }
  });

  it('keeps a key in the millisecond of its end and not in the next one, as Redis does', async () => {
    const script = `
      local clock = redis.call('TIME')
      local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
      local exists = {}
      for i = 0, 1 do
        redis.call('SET', KEYS[1], '', 'PXAT', string.format('%.17g', now - i))
        exists[i + 1] = redis.call('EXISTS', KEYS[1])
      end
      return exists
    `;
    const replies: [atEnd: number, later: number][] = [];
    for (let i = 0; i < 50; i += 1) replies.push((await redis.eval(script, 1, KEYS[0])) as [number, number]);
    // The clock may advance between the start of the script, which decides on expiry, and TIME.
    expect(replies.every(([atEnd]) => atEnd === 1)).toBe(true);
    expect(replies.some(([, later]) => later === 0)).toBe(true);

    const server = serverAt(BEGIN + 0.75);
    const exists = [BEGIN, BEGIN - 1].map((end) => {
      server.call('SET', KEYS[0], '', 'PXAT', end);
      return server.call('EXISTS', KEYS[0]);
    });
    expect(exists).toEqual([1, 0]);
  });

  it('throws errors from call, and returns them from pcall', () => {
    const server = serverAt(BEGIN);
    server.call('ZADD', 'key', 1, 'member');
    const err = 'WRONGTYPE Operation against a key holding the wrong kind of value';
    expect(() => server.call('GET', 'key')).toThrow(expect.objectContaining({ err }) as ServerError);
    expect(server.pcall('GET', 'key')).toEqual({ err });
    expect(server.pcall('INCRBY', 'counter', 2)).toBe(2);
  });

  it('does not change with its clone', () => {
    const server = serverAt(BEGIN);
    server.call('SET', 'a', 'x', 'PX', 5);
    server.call('ZADD', 'b', 1, 'member');
    const before = server.dump();
    const copy = server.clone({ nowMs: () => BEGIN, publish: () => 0 });
    expect(copy.dump()).toEqual(before);
    copy.call('PEXPIRE', 'a', 9);
    copy.call('ZADD', 'b', 2, 'member');
    copy.call('DEL', 'a');
    expect(server.dump()).toEqual(before);
  });
});

const serverAt = (nowMs: number): MemoryServer => new MemoryServer({ nowMs: () => nowMs, publish: () => 0 });

describe('Expired keys in memory', () => {
  const COUNT = 20_000;
  const PROCESS = 'a'.repeat(22);
  const sizeOf = (server: MemoryServer): number =>
    Object.values(server).find((value: unknown) => value instanceof Map)!.size;

  it.each([
    ['exclusive', `${PROCESS}:1`],
    ['read', `${PROCESS}:1:r`],
    ['semaphore', `${PROCESS}:1P2:1`],
  ] as const)('are removed while other locks are acquired: %s', (kind, ownerToken) => {
    let now = BEGIN;
    const locks = new MemoryLocks({ now: () => now, publish: () => 1 });
    let largest = 0;
    for (let i = 0; i < COUNT; i += 1) {
      now += 1;
      const request = { key: `key-${i}`, ownerToken, kind, ttlMs: 100, wait: false, block: 1 };
      if (locks.acquire(request).outcome !== 'granted') throw new Error(`${request.key} is not free`);
      largest = Math.max(largest, sizeOf(locks.server));
    }
    expect(largest).toBeLessThan(500);
  });

  it('are removed while one key is in use, and valid keys stay', () => {
    let now = BEGIN;
    const server = new MemoryServer({ nowMs: () => now, publish: () => 0 });
    for (let i = 0; i < COUNT; i += 1) server.call('SET', `key-${i}`, '', 'PX', i % 2 === 0 ? 100 : 1_000);
    now += 500;
    for (let i = 0; i < COUNT; i += 1) {
      server.call('ZADD', 'queue', i, 'member');
      server.call('ZREM', 'queue', 'member');
    }
    expect(sizeOf(server)).toBe(COUNT / 2);
  });
});
