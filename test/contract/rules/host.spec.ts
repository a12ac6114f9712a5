import { readFileSync } from 'node:fs';

import { Redis } from 'ioredis';

import { REFUSED } from '../../../libs/distribute-lock/src/store/protocol/reply-codes.js';
import * as host from '../../../libs/distribute-lock/src/store/protocol/host.js';
import { Random } from '../../simulation/random.js';
import { startRedisServer } from '../../support/redis-server.js';
import { runsOf } from '../../support/runs.js';

const { numRuns: TEXTS, seed = Date.now() % 1e9 } = runsOf('texts in Lua and TypeScript', 50_000);
const LUA = readFileSync(
  new URL('../../../libs/distribute-lock/src/store/protocol/host.lua', import.meta.url),
  'utf8',
).replace(/^function /gm, 'local function ');
const NUMBERS = `local REFUSED = ${REFUSED}\n`;

/** Functions of other values than one text. */
const OTHERS = [
  'toNumber',
  'digits',
  'exactly',
  'allWords',
  'lockPrefix',
  'emptyTable',
  'safely',
  'sixDigits',
  'joined',
];
/** Functions of one text; a missing value is shown as `nil`. */
const OF_TEXT = Object.entries(host).filter(([name]) => !OTHERS.includes(name)) as [
  string,
  (text: string) => unknown,
][];

const PARTS = ['A'.repeat(22), 'A'.repeat(21), 'a', '1', 'r', 'P3', ':', ':', '~', '#', '=', '+', '-', '_', '.', 'e5'];
const WORDS = ['a', 'w', 'd', 'r', '10', '0', ' ', ' ', ' ', '%d', '(', 'semaphore:', '\n'];

describe('The functions that Lua and TypeScript have', () => {
  let redis: Redis;

  beforeAll(async () => {
    redis = new Redis((await startRedisServer()).url);
  });

  afterAll(() => redis.quit());

  const inLua = async (body: string, ...values: string[]): Promise<string[]> =>
    (await redis.eval(`${NUMBERS}${LUA}\n${body}`, 0, ...values)) as string[];

  it.each(OF_TEXT)('return the same: %s', async (name, inTypeScript) => {
    const texts = textsOf(name);
    const shown = await inLua(
      `local shown = {}
      for i, text in ipairs(cjson.decode(ARGV[1])) do
        local parts, count = { ${name}(text) }, select('#', ${name}(text))
        for k = 1, math.max(count, 1) do parts[k] = parts[k] == nil and 'nil' or type(parts[k]) == 'number' and string.format('%.17g', parts[k]) or tostring(parts[k]) end
        shown[i] = table.concat(parts, '|')
      end
      return shown`,
      JSON.stringify(texts),
    );
    expect(texts.map((text) => comparable(shownOf(inTypeScript(text))))).toEqual(shown.map(comparable));
  });

  it('return the same texts of numbers', async () => {
    const random = new Random(seed);
    const numbers = Array.from({ length: 1_000 }, () => random.int(-9e15, 9e15));
    const scores = numbers.map((number) => (number % 2 ** 37) + random.int(0, 65_535) / 65_536);
    const shown = await inLua(
      `local shown = {}
      for i, number in ipairs(cjson.decode(ARGV[1])) do shown[i] = digits(tonumber(number)) end
      for _, score in ipairs(cjson.decode(ARGV[2])) do shown[#shown + 1] = string.format('%.17g', tonumber(exactly(tonumber(score)))) end
      return shown`,
      JSON.stringify(numbers.map(String)),
      JSON.stringify(scores.map(String)),
    );
    expect(shown.slice(0, 1_000)).toEqual(numbers.map((number) => host.digits(number)));
    expect(shown.slice(1_000).map(Number)).toEqual(scores.map((score) => Number(host.exactly(score))));
  });

  it('return the same for other values', async () => {
    const shown = await inLua(
      `return { lockPrefix('lock:a', 'f1:lock::5'), sixDigits('7'), sixDigits('123456'), joined({ 'a', 'b' }),
        table.concat(allWords(' a  b '), ','), joined(safely(function(x) return { x, 2, 3 } end, 1)),
        safely(error, { err = 'full' })[2] }`,
    );
    expect([
      host.lockPrefix('lock:a', 'f1:lock::5'),
      host.sixDigits('7'),
      host.sixDigits('123456'),
      host.joined(['a', 'b']),
      host.allWords(' a  b ').join(','),
      host.joined(host.safely((x: number) => [x, 2, 3], 1).map(String)),
      host.safely(() => {
        throw { err: 'full' };
      })[1],
    ]).toEqual(shown);
  });
});

/** Texts that look like tokens, commands and counters, and others. */
function textsOf(name: string): string[] {
  const random = new Random(seed + name.length);
  return Array.from({ length: TEXTS / 10 }, () => {
    const pool = random.chance(0.5) ? PARTS : [...PARTS, ...WORDS];
    return Array.from({ length: random.int(0, 8) }, () => random.pick(pool)).join('');
  });
}

function shownOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'nil' : value.map(shownOf).join('|');
  if (typeof value === 'string') return value;
  if (Math.abs(Number(value)) === Infinity) return value === Infinity ? 'inf' : '-inf';
  return value === undefined ? 'nil' : JSON.stringify(value);
}

/** Both languages write numbers in different ways, also minus zero. */
const comparable = (shown: string): string | number => (/^-?\d[\d.e+-]*$/.test(shown) ? Number(shown) + 0 : shown);
