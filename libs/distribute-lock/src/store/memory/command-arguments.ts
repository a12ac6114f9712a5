import type { Value } from '../protocol/server.js';
import type { Fault } from '../protocol/server.js';
import type { SortedSet } from './sorted-set.js';

/** An error reply of the server, as Redis words it. */
export class ServerError extends Error implements Fault {
  override readonly name = 'ServerError';

  constructor(readonly err: string) {
    super(err);
  }
}

/** Finds the places `from` up to, and without, `to` in a sorted set. */
export type Places = (set: SortedSet) => [from: number, to: number];

export interface SetOptions {
  readonly nx: boolean;
  readonly get: boolean;
  readonly ttl: 'PX' | 'PXAT' | 'KEEPTTL' | undefined;
  /** The argument of PX or PXAT; `Infinity` without either. */
  readonly ms: number;
}

export interface RangeOptions {
  readonly places: Places;
  readonly rev: boolean;
  readonly offset: number;
  /** A negative number means all. */
  readonly limit: number;
  readonly withScores: boolean;
}

const SYNTAX = 'ERR syntax error';
const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/;
const NO_LIMIT = -1;

export const text = (value: Value): string => (typeof value === 'string' ? value : String(value));

/** A whole number of 64 bits. */
export function integer(value: Value): number {
  const isInteger = typeof value === 'number' ? Number.isSafeInteger(value) : INTEGER.test(value) && isLong(value);
  if (!isInteger) throw new ServerError('ERR value is not an integer or out of range');
  return Number(value);
}

/** The sum of two integers of 64 bits, as text. */
export function sumOf(first: Value, second: Value): string {
  const [a, b] = [integer(first), integer(second)];
  if ([a, b, a + b].every(Number.isSafeInteger)) return String(a + b);
  const sum = String(BigInt(first) + BigInt(second));
  if (!isLong(sum)) throw new ServerError('ERR increment or decrement would overflow');
  return sum;
}

export function scoreOf(value: Value): number {
  const score = numberOf(value);
  const isNumber = !Number.isNaN(score) && value !== '' && text(value).trim() === text(value);
  if (!isNumber) throw new ServerError('ERR value is not a valid float');
  return score;
}

export function scoreText(score: number): string {
  if (Number.isFinite(score)) return String(score);
  return score > 0 ? 'inf' : '-inf';
}

/** The options of SET, which begin at the third argument. */
export function setOptionsOf(args: readonly Value[]): SetOptions {
  let nx = false;
  let get = false;
  let ttl: SetOptions['ttl'];
  let ms: Value | undefined;
  for (let at = 2; at < args.length; at += 1) {
    const option = args[at];
    if (option === 'NX') nx = true;
    else if (option === 'GET') get = true;
    else if (ttl !== undefined && ttl !== option) throw new ServerError(SYNTAX);
    else if (option === 'KEEPTTL') ttl = option;
    else if ((option === 'PX' || option === 'PXAT') && at + 1 < args.length) {
      ttl = option;
      at += 1;
      ms = args[at];
    } else throw new ServerError(SYNTAX);
  }
  if (ms === undefined) return { nx, get, ttl, ms: Infinity };
  const number = integer(ms);
  if (number <= 0) throw new ServerError("ERR invalid expire time in 'set' command");
  return { nx, get, ttl, ms: number };
}

/** The number of options of ZADD before the score and the member, and what they say. */
export function addOptionsOf(args: readonly Value[]): { at: number; nx: boolean; gt: boolean } {
  let at = 1;
  while (args[at] === 'NX' || args[at] === 'GT') at += 1;
  const [nx, gt] = ['NX', 'GT'].map((option) => args.lastIndexOf(option, at - 1) > 0);
  if (args.length !== at + 2) throw new ServerError(SYNTAX);
  if (nx && gt) throw new ServerError('ERR GT, LT, and/or NX options at the same time are not compatible');
  return { at, nx, gt };
}

/** The range of ZRANGE, or of ZRANGEBYSCORE, which is always `byScore` and ascending. */
export function rangeOf(args: readonly Value[], byScore: boolean): RangeOptions {
  const mayChoose = !byScore;
  let [rev, withScores] = [false, false];
  let [offset, limit] = [0, NO_LIMIT];
  for (let at = 3; at < args.length; at += 1) {
    const option = args[at];
    if (option === 'WITHSCORES') withScores = true;
    else if (option === 'LIMIT' && at + 2 < args.length) {
      [offset, limit] = [integer(args[at + 1]), integer(args[at + 2])];
      at += 2;
    } else if (option === 'REV' && mayChoose) rev = true;
    else if (option === 'BYSCORE' && mayChoose) byScore = true;
    else throw new ServerError(SYNTAX);
  }
  if (!byScore && limit !== NO_LIMIT) {
    throw new ServerError(`${SYNTAX}, LIMIT is only supported in combination with either BYSCORE or BYLEX`);
  }
  const places = placesOf(args, byScore, rev);
  return { places, rev, offset: byScore ? offset : 0, limit, withScores };
}

/** The places with scores from `min` to `max`; `(` before a number excludes it. */
export function placesByScore(min: Value, max: Value): Places {
  const [lowest, highest] = [boundOf(min), boundOf(max)];
  return (set) => [set.countBelow(lowest.score, lowest.isExcluded), set.countBelow(highest.score, !highest.isExcluded)];
}

function placesOf([, first, last]: readonly Value[], byScore: boolean, rev: boolean): Places {
  if (byScore) return rev ? placesByScore(last, first) : placesByScore(first, last);
  return placesByIndex(integer(first), integer(last), rev);
}

/** Places from `start` to `stop`, both included; negative ones count from the end, and with `rev` from the other end. */
function placesByIndex(start: number, stop: number, rev: boolean): Places {
  return ({ size }) => {
    const from = Math.max(start < 0 ? start + size : start, 0);
    const to = Math.min(stop < 0 ? stop + size : stop, size - 1) + 1;
    return rev ? [size - to, size - from] : [from, to];
  };
}

function boundOf(value: Value): { readonly score: number; readonly isExcluded: boolean } {
  const isExcluded = typeof value === 'string' && value.startsWith('(');
  const score = numberOf(isExcluded ? value.slice(1) : value);
  if (Number.isNaN(score)) throw new ServerError('ERR min or max is not a float');
  return { score, isExcluded };
}

function numberOf(value: Value): number {
  if (value === 'inf' || value === '+inf') return Infinity;
  return value === '-inf' ? -Infinity : Number(value);
}

function isLong(digits: string): boolean {
  return digits.length < 18 || BigInt.asIntN(64, BigInt(digits)) === BigInt(digits);
}
