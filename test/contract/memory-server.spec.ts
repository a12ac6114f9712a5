import {
  MemoryServer,
  ServerError,
  type MemoryServerHost,
} from '../../libs/distribute-lock/src/store/memory/memory-server.js';
import { Random } from '../simulation/random.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { runsOf } from '../support/runs.js';
import { useRedis } from '../support/use-redis.js';

type Value = string | number;
type Command = readonly [name: string, ...args: Value[]];

const { numRuns: SEQUENCES, seed = Date.now() % 1_000_000 } = runsOf('the memory server and Redis', 20_000);
const COMMANDS = 40;
/** Sequences that are sent to Redis before the first reply is awaited. */
const BATCH = 50;
const BEGIN = 1_700_000_000_000;

/**
 * Executes commands on a clock that stands still, except for the command PASS. One virtual millisecond is 100 s for
 * Redis, so the duration of the script changes no reply. A key that ends in `left` ms ends for Redis at
 * `base + left * SCALE + SLACK`: the key exists while `left` is 0. An end that the command places in the past has no
 * SLACK.
 */
const SCRIPT = `
local SCALE, SLACK = 100000, 50000
local clock = redis.call('TIME')
local base = clock[1] * 1000 + math.floor(clock[2] / 1000)
local now = tonumber(ARGV[2])

local function leftAt(real) return math.floor((real - base) / SCALE) end
local function text(number) return string.format('%.17g', number) end
local function realEnd(left, first) return text(base + left * SCALE + (left >= first and SLACK or 0)) end
local function isWhole(ms) return string.find(ms, '^-?%d+$') ~= nil end
local function realTtl(ms) return tonumber(ms) > 0 and text(ms * SCALE + SLACK) or ms end

local function align(key)
  local ends = redis.call('PEXPIRETIME', key)
  if ends >= 0 then redis.call('PEXPIREAT', key, realEnd(leftAt(ends), 0)) end
end

local function pass(ms)
  for _, key in ipairs(KEYS) do
    local ends = redis.call('PEXPIRETIME', key)
    if ends >= 0 then redis.call('PEXPIREAT', key, realEnd(leftAt(ends) - ms, 0)) end
  end
  now = now + ms
  return 0
end

local function execute(command)
  local name, key = command[1], command[2]
  if name == 'PASS' then return pass(key) end
  if name == 'TIME' then return { text(math.floor(now / 1000)), text(now % 1000 * 1000 + 750) } end
  if name == 'PEXPIRE' and isWhole(command[3]) then command[3] = realTtl(command[3]) end
  if name == 'PEXPIREAT' and isWhole(command[3]) then command[3] = realEnd(command[3] - now, 1) end
  if name == 'SET' then
    for at = 4, #command - 1 do
      local ms = command[at + 1]
      if command[at] == 'PX' and isWhole(ms) then command[at + 1] = realTtl(ms) end
      if command[at] == 'PXAT' and isWhole(ms) and tonumber(ms) > 0 then command[at + 1] = realEnd(ms - now, 0) end
    end
  end
  local reply = redis.pcall(unpack(command))
  if name == 'PEXPIRE' or name == 'SET' then align(key) end
  if name == 'PTTL' and reply >= 0 then return math.floor(reply / SCALE) end
  if name == 'PEXPIRETIME' and reply >= 0 then return now + leftAt(reply) end
  return reply
end

local function written(reply)
  if type(reply) == 'number' then return { 'number', text(reply) } end
  if type(reply) == 'string' then return { 'text', reply } end
  if reply == false then return { 'nothing' } end
  if reply.err then return { 'error', reply.err } end
  if reply.ok then return { 'status', reply.ok } end
  return { 'list', unpack(reply) }
end

local replies = {}
for i, command in ipairs(cjson.decode(ARGV[1])) do replies[i] = written(execute(command)) end
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  local content = kind == 'string' and { redis.call('GET', key) } or {}
  if kind == 'zset' then content = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
  if kind ~= 'none' then replies[#replies + 1] = { key, text(execute({ 'PEXPIRETIME', key })), unpack(content) } end
end
redis.call('DEL', unpack(KEYS))
return replies
`;

/** The replies and the data of the memory server, written as the script writes those of Redis. */
function runInMemory(commands: readonly Command[], host: MemoryServerHost & { passed: number }): Value[][] {
  const server = new MemoryServer(host);
  const pcall = server.pcall as (...command: Command) => unknown;
  const replies = commands.map(([name, ...args]) => {
    if (name !== 'PASS') return written(pcall(name, ...args));
    host.passed += Number(args[0]);
    return ['number', 0];
  });
  const data = server.dump().map(([key, value, endsAt = -1]) => [key, endsAt as Value].concat(value));
  return [...replies, ...data];
}

function written(reply: unknown): Value[] {
  if (typeof reply === 'number') return ['number', reply];
  if (typeof reply === 'string') return ['text', reply];
  if (reply === false) return ['nothing'];
  if (Array.isArray(reply)) return ['list', ...(reply as string[])];
  return Object.entries(reply as object).flatMap(([kind, what]) => [kind === 'err' ? 'error' : 'status', String(what)]);
}

/** Replies whose fractions are numbers, because Redis writes 0.1 with 17 digits. */
function comparable(replies: readonly Value[][]): Value[][] {
  return replies.map(([kind, ...words]) => [
    kind,
    ...words.map((word) => (kind === 'number' || FRACTION.test(String(word)) ? Number(word) : String(word))),
  ]);
}

const FRACTION = /^-?\d+\.\d+$/;
const SCORES = [-2, -1, 0, 0.1, 1, 2, 3, 1.5, 1_700_000_000_123.25, 'inf', '-inf'];
const VALUES = ['x', '7', '-3', '1.5', '', '01', '9007199254740993', '9223372036854775807', '9223372036854775808'];
const STEPS = [1, 1, 5, -2, '9007199254740993', '9223372036854775807', '-9223372036854775808', '1.5', 'x'];
const ODD_ADD_OPTIONS = [
  ['NX', 'GT'],
  ['GT', 'FOO'],
];
const ODD_SET_OPTIONS = [['PX', '1.5'], ['PX', 'x'], ['KEEPTTL'], ['FOO'], ['PXAT', '-5'], ['PX']];
const TIMES = [-3, -1, 0, 1, 2, 3, 5, 8, 100];

/** Writes random commands for few keys and members, so that types, members and ends collide. */
class Commands {
  private now = BEGIN;

  constructor(
    private readonly random: Random,
    private readonly keys: readonly string[],
    private readonly members: number,
    private readonly channels: readonly string[],
  ) {}

  next(): Command {
    const { random } = this;
    if (random.chance(0.1)) return this.pass();
    const command = random.pick(this.kinds)();
    return command.map((word) => (typeof word === 'number' && random.chance(0.5) ? String(word) : word)) as [string];
  }

  private readonly key = () => this.random.pick(this.keys);
  private readonly member = () => `m${this.random.int(1, this.members)}`;
  private readonly time = () => this.random.pick(TIMES);
  private readonly limit = () => ['LIMIT', this.random.int(-1, 3), this.random.int(-1, 4)];
  private readonly score = () =>
    this.random.chance(0.02) ? this.random.pick(['x', '', ' 1']) : this.random.pick(SCORES);
  private readonly index = () => (this.random.chance(0.02) ? '1.5' : this.random.int(-6, 6));

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
    ...this.often(2, (): Command => ['ZRANGE', this.key(), this.index(), this.index(), ...this.rangeOptions(0.01)]),
    ...this.often(4, (): Command => [
      'ZRANGE',
      this.key(),
      this.bound(),
      this.bound(),
      'BYSCORE',
      ...this.rangeOptions(0.4),
    ]),
    ...this.often(2, (): Command => ['ZRANGEBYSCORE', this.key(), ...this.between(), ...this.scoreOptions()]),
    () => ['ZREMRANGEBYSCORE', this.key(), ...this.between()],
    () => [this.random.pick(['PUBLISH', 'SPUBLISH']), this.random.pick(this.channels), this.member()],
    () => ['TIME'],
    () => (this.random.chance(0.1) ? ['FOO', this.key()] : ['EXISTS', this.key()]),
  ];

  private pass(): Command {
    const ms = this.random.pick([1, 1, 1, 2, 3, 5]);
    this.now += ms;
    return ['PASS', ms];
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
    const px = ['PX', random.chance(0.9) ? Math.max(1, this.time()) : this.time()];
    const ttl = random.pick([[], px, px, ['KEEPTTL'], ['PXAT', this.now + this.time()]]);
    const odd = random.chance(0.03) ? [random.pick(ODD_SET_OPTIONS)] : [];
    return this.shuffled([ttl, this.some('NX', 0.3), this.some('GET', 0.3), ...odd]).flat();
  }

  private addOptions(): string[] {
    const { random } = this;
    if (random.chance(0.03)) return random.pick(ODD_ADD_OPTIONS);
    return random.pick([[], [], ['NX'], ['GT'], ['GT']]);
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

  private scoreOptions(): Value[] {
    const limit = this.random.chance(0.5) ? this.limit() : [];
    return this.shuffled([this.some('WITHSCORES', 0.5), limit, this.some('REV', 0.01)]).flat();
  }

  private rangeOptions(limited: number): Value[] {
    return this.shuffled([
      this.some('WITHSCORES', 0.5),
      this.some('REV', 0.4),
      this.random.chance(limited) ? this.limit() : [],
    ]).flat();
  }

  private shuffled<T>(list: T[]): T[] {
    for (let at = list.length - 1; at > 0; at -= 1) {
      const other = this.random.int(0, at);
      [list[at], list[other]] = [list[other], list[at]];
    }
    return list;
  }
}

const keepsSetsLarge = ([name]: Command): boolean => name.startsWith('Z') && name !== 'ZREMRANGEBYSCORE';

describe('MemoryServer', () => {
  const redis = useRedis();
  const keys = [1, 2, 3, 4].map((i) => `${redis.prefix}key-${i}`);
  const channels = [1, 2].map((i) => `${redis.prefix}channel-${i}`);
  const received: string[] = [];
  const published: string[] = [];

  beforeAll(async () => {
    const subscriber = redis.client.duplicate();
    onCleanup(() => subscriber.disconnect());
    for (const event of ['message', 'smessage']) {
      subscriber.on(event, (_: string, message: string) => received.push(message));
    }
    await subscriber.subscribe(channels[0]);
    await subscriber.ssubscribe(channels[0]);
  });

  const hostAt = (nowMs: number): MemoryServerHost & { passed: number } => ({
    passed: 0,
    nowMs() {
      return nowMs + this.passed;
    },
    publish(channel, message) {
      if (channel !== channels[0]) return 0;
      published.push(message);
      return 1;
    },
  });

  async function compare(of: number, commands: readonly Command[]): Promise<void> {
    const replies = await redis.client.eval(SCRIPT, keys.length, ...keys, JSON.stringify(commands), BEGIN);
    const expected = comparable(replies as string[][]);
    const actual = comparable(runInMemory(commands, hostAt(BEGIN + 0.75)));
    const at = expected.findIndex((reply, i) => JSON.stringify(reply) !== JSON.stringify(actual[i]));
    const difference = { seed: of, at, command: commands[at] };
    if (at >= 0) expect({ ...difference, reply: actual[at] }).toEqual({ ...difference, reply: expected[at] });
    expect(actual).toHaveLength(expected.length);
  }

  it(`replies as Redis does, and keeps the same data, in ${SEQUENCES} sequences of commands`, async () => {
    for (let first = 0; first < SEQUENCES; first += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, SEQUENCES - first) }, (_, i) => seed * 100_000 + first + i);
      await Promise.all(
        batch.map((of) => {
          const source = new Commands(new Random(of), keys, 5, channels);
          return compare(
            of,
            Array.from({ length: COMMANDS }, () => source.next()),
          );
        }),
      );
    }
    await eventually(() => expect(received).toHaveLength(published.length));
    expect(received).toEqual(published);
  }, 300_000);

  it('replies as Redis does when its sets are large', async () => {
    for (let of = seed; of < seed + 10; of += 1) {
      const source = new Commands(new Random(of), keys.slice(0, 1), 500, channels);
      const commands = Array.from({ length: 8_000 }, () => source.next());
      await compare(of, commands.filter(keepsSetsLarge));
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
    for (let i = 0; i < 50; i += 1) replies.push((await redis.client.eval(script, 1, keys[0])) as [number, number]);
    // The clock may advance between the start of the script, which decides on expiry, and TIME.
    expect(replies.every(([atEnd]) => atEnd === 1)).toBe(true);
    expect(replies.some(([, later]) => later === 0)).toBe(true);

    const server = new MemoryServer(hostAt(BEGIN + 0.75));
    const exists = [BEGIN, BEGIN - 1].map((end) => {
      server.call('SET', keys[0], '', 'PXAT', end);
      return server.call('EXISTS', keys[0]);
    });
    expect(exists).toEqual([1, 0]);
  });

  it('throws errors from call, and returns them from pcall', () => {
    const server = new MemoryServer(hostAt(BEGIN));
    server.call('ZADD', 'key', 1, 'member');
    const err = 'WRONGTYPE Operation against a key holding the wrong kind of value';
    expect(() => server.call('GET', 'key')).toThrow(expect.objectContaining({ err }) as ServerError);
    expect(server.pcall('GET', 'key')).toEqual({ err });
    expect(server.pcall('INCRBY', 'counter', 2)).toBe(2);
  });

  it('does not change with its clone', () => {
    const server = new MemoryServer(hostAt(BEGIN));
    server.call('SET', 'a', 'x', 'PX', 5);
    server.call('ZADD', 'b', 1, 'member');
    const before = server.dump();
    const copy = server.clone(hostAt(BEGIN));
    expect(copy.dump()).toEqual(before);
    copy.call('PEXPIRE', 'a', 9);
    copy.call('ZADD', 'b', 2, 'member');
    copy.call('DEL', 'a');
    expect(server.dump()).toEqual(before);
  });
});

describe('Expired keys of a MemoryServer', () => {
  const KEYS = 20_000;
  const sizeOf = (server: MemoryServer): number =>
    Object.values(server).find((value: unknown) => value instanceof Map)!.size;

  it('are removed while other keys are written', () => {
    let now = BEGIN;
    const server = new MemoryServer({ nowMs: () => now, publish: () => 0 });
    for (let i = 0; i < KEYS; i += 1) {
      now += 1;
      server.call('SET', `key-${i}`, '', 'PX', 100);
      expect(sizeOf(server)).toBeLessThan(500);
    }
  });

  it('are removed while one key is in use, and valid keys stay', () => {
    let now = BEGIN;
    const server = new MemoryServer({ nowMs: () => now, publish: () => 0 });
    for (let i = 0; i < KEYS; i += 1) server.call('SET', `key-${i}`, '', 'PX', i % 2 === 0 ? 100 : 1_000);
    now += 500;
    for (let i = 0; i < KEYS; i += 1) {
      server.call('ZADD', 'queue', i, 'member');
      server.call('ZREM', 'queue', 'member');
    }
    expect(sizeOf(server)).toBe(KEYS / 2);
  });
});
