import type { Fault, Server, Status, Value } from '../protocol/server.js';
import { SortedSet, type Scored } from './sorted-set.js';

/** An error reply of the server, as Redis words it. */
export class ServerError extends Error implements Fault {
  override readonly name = 'ServerError';

  constructor(readonly err: string) {
    super(err);
  }
}

export interface MemoryServerHost {
  /** The time in milliseconds; it may have a fraction. */
  nowMs(): number;
  /** Returns how many subscribers received the message. */
  publish(channel: string, message: string): number;
}

type ServerReply = string | number | false | Status | string[];

/** Executes one command. The arguments include the key. */
type CommandAction = (server: MemoryServer, key: string, args: readonly Value[]) => ServerReply;

/** A key, its value or its members and scores in turn, and the millisecond of its end, if it has one. */
export type DumpedKey = readonly [key: string, value: string | readonly string[], endsAt: number | undefined];

interface Entry {
  readonly value: string | SortedSet;
  /** The last millisecond in which the key exists; `Infinity` for a key without an end. */
  endsAt: number;
}

const OK: Status = { ok: 'OK' };
const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';
const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/;
/** Number of keys that a new value checks for expiry. Two remove more keys than one value adds. */
const CHECKED = 2;

/**
 * The Redis commands that the rules use, with the options that `Server` lists, in memory. The replies are those of Redis 7
 * to a Lua script. A script in Redis sees one time from start to end; here `host.nowMs()` decides that.
 */
export class MemoryServer implements Server {
  /** Returns the reply of the command. Throws a `ServerError` where Redis replies with an error. */
  readonly call = ((name: string, ...args: Value[]) => this.execute(name, args)) as Server['call'];
  /** As `call`, but returns an error instead of throwing it. */
  readonly pcall = ((name: string, ...args: Value[]) => this.attempt(name, args)) as Server['pcall'];

  private static readonly commands: Readonly<Record<string, CommandAction>> = {
    GET: (server, key) => server.string(key) ?? false,
    SET: (server, key, args) => server.set(key, args),
    DEL: (server, _, args) => count(args, (key) => server.delete(key)),
    UNLINK: (server, _, args) => count(args, (key) => server.delete(key)),
    EXISTS: (server, _, args) => count(args, (key) => server.entry(key) !== undefined),
    PTTL: (server, key) => server.leftMs(key),
    PEXPIRE: (server, key, args) => server.expire(key, server.nowMs(), args),
    PEXPIREAT: (server, key, args) => server.expire(key, 0, args),
    INCRBY: (server, key, args) => server.increase(key, args[1]),
    PUBLISH: (server, channel, [, message]) => server.host.publish(channel, text(message)),
    SPUBLISH: (server, channel, [, message]) => server.host.publish(channel, text(message)),
    TIME: (server) => server.time(),
    ZADD: (server, key, args) => server.add(key, args),
    ZREM: (server, key, [, ...members]) => server.changed(key, 0, (set) => count(members, (each) => set.remove(each))),
    ZSCORE: (server, key, [, member]) => server.score(key, member),
    ZCARD: (server, key) => server.sortedSet(key)?.size ?? 0,
    ZPOPMIN: (server, key) => server.changed(key, [], (set) => flat(set.removeBetween(0, 1), true)),
    ZRANGE: (server, key, args) => server.range(key, args, args.includes('BYSCORE')),
    ZRANGEBYSCORE: (server, key, args) => server.range(key, args, true),
    ZREMRANGEBYSCORE: (server, key, [, min, max]) => {
      const places = placesByScore(min, max);
      return server.changed(key, 0, (set) => set.removeBetween(...places(set)).length);
    },
  };

  private readonly entries = new Map<string, Entry>();
  private unchecked = this.entries.entries();

  constructor(private readonly host: MemoryServerHost) {}

  /** All keys that exist, in the order of their names. */
  dump(): DumpedKey[] {
    const names = [...this.entries.keys()].filter((key) => this.entry(key) !== undefined).sort();
    return names.map((key) => {
      const { value, endsAt } = this.entries.get(key)!;
      const content = typeof value === 'string' ? value : flat(value.slice(0, value.size), true);
      return [key, content, endsAt === Infinity ? undefined : endsAt];
    });
  }

  /** A server with the same data that changes independently. */
  clone(host: MemoryServerHost): MemoryServer {
    const copy = new MemoryServer(host);
    for (const [key, { value, endsAt }] of this.entries) {
      copy.entries.set(key, { value: typeof value === 'string' ? value : value.clone(), endsAt });
    }
    return copy;
  }

  private attempt(name: string, args: readonly Value[]): ServerReply | Fault {
    try {
      return this.execute(name, args);
    } catch (error) {
      if (error instanceof ServerError) return { err: error.err };
      throw error;
    }
  }

  private execute(name: string, args: readonly Value[]): ServerReply {
    return MemoryServer.commands[name](this, args[0] as string, args);
  }

  private set(key: string, args: readonly Value[]): ServerReply {
    const isOnlyNew = args[2] === 'NX';
    const at = isOnlyNew ? 3 : 2;
    const option = args[at];
    const ms = args[at + 1];
    let endsAt = Infinity;
    if (option === 'PX') endsAt = this.nowMs() + timeOf(ms);
    else if (option === 'PXAT') endsAt = timeOf(ms);
    else if (option === 'KEEPTTL') endsAt = this.entry(key)?.endsAt ?? Infinity;
    else if (option !== undefined && option !== 'GET') throw new ServerError('ERR syntax error');
    const old = args[args.length - 1] === 'GET' ? (this.string(key) ?? false) : OK;
    if (isOnlyNew && this.entry(key) !== undefined) return false;
    this.put(key, text(args[1]), endsAt);
    return old;
  }

  private delete(key: string): boolean {
    return this.entry(key) !== undefined && this.entries.delete(key);
  }

  /** Sets the end of the key, which the second argument counts from `sinceMs`. An end that has come deletes the key. */
  private expire(key: string, sinceMs: number, [, ms, option]: readonly Value[]): number {
    const endsAt = sinceMs + integer(ms);
    const entry = this.entry(key);
    if (entry === undefined || (option === 'GT' && endsAt <= entry.endsAt)) return 0;
    if (endsAt <= this.nowMs()) this.entries.delete(key);
    else entry.endsAt = endsAt;
    return 1;
  }

  /** Milliseconds to the end of the key; -1 without an end, -2 without a key. */
  private leftMs(key: string): number {
    const entry = this.entry(key);
    if (entry === undefined) return -2;
    return entry.endsAt === Infinity ? -1 : entry.endsAt - this.nowMs();
  }

  private increase(key: string, by: Value): number {
    integer(by);
    const sum = sumOf(this.string(key) ?? 0, by);
    this.put(key, sum, this.entry(key)?.endsAt ?? Infinity);
    return Number(sum);
  }

  private add(key: string, args: readonly Value[]): number {
    const option = args.length > 3 ? args[1] : undefined;
    const [score, member] = [Number(args.at(-2)), text(args.at(-1)!)];
    const set = this.sortedSet(key);
    const old = set?.score(member);
    if (old !== undefined && (option === 'NX' || (option === 'GT' && score <= old))) return 0;
    (set ?? this.put(key, new SortedSet(), Infinity)).set(member, score);
    return old === undefined ? 1 : 0;
  }

  private score(key: string, member: Value): string | false {
    const score = this.sortedSet(key)?.score(text(member));
    return score !== undefined && String(score);
  }

  private range(key: string, [, first, last, ...options]: readonly Value[], byScore: boolean): string[] {
    const isReversed = options.includes('REV');
    const [low, high] = isReversed ? [last, first] : [first, last];
    const places = byScore ? placesByScore(low, high) : placesByIndex(Number(low), Number(high));
    const set = this.sortedSet(key);
    if (set === undefined) return [];
    const limit = options.includes('LIMIT') ? Number(options[options.indexOf('LIMIT') + 2]) : Infinity;
    const [from, to] = places(set);
    const found = isReversed
      ? set.slice(Math.max(from, to - limit), to).reverse()
      : set.slice(from, Math.min(to, from + limit));
    return flat(found, options.includes('WITHSCORES'));
  }

  /** Changes the sorted set of the key, and deletes the key when no member is left. */
  private changed<T>(key: string, missing: T, change: (set: SortedSet) => T): T {
    const set = this.sortedSet(key);
    if (set === undefined) return missing;
    const result = change(set);
    if (set.size === 0) this.entries.delete(key);
    return result;
  }

  private time(): string[] {
    const now = this.host.nowMs();
    const ms = Math.floor(now);
    return [String(Math.floor(ms / 1000)), String((ms % 1000) * 1000 + Math.floor((now - ms) * 1000))];
  }

  private string(key: string): string | undefined {
    const value = this.entry(key)?.value;
    if (typeof value === 'object') throw new ServerError(WRONG_TYPE);
    return value;
  }

  private sortedSet(key: string): SortedSet | undefined {
    const value = this.entry(key)?.value;
    if (typeof value === 'string') throw new ServerError(WRONG_TYPE);
    return value;
  }

  private entry(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined || entry.endsAt === Infinity || this.nowMs() <= entry.endsAt) return entry;
    this.entries.delete(key);
    return undefined;
  }

  private put<T extends string | SortedSet>(key: string, value: T, endsAt: number): T {
    this.entries.set(key, { value, endsAt });
    this.sweep();
    return value;
  }

  /** Removes expired keys among the next few, so that keys without any later command do not accumulate. */
  private sweep(): void {
    for (let i = 0; i < CHECKED; i += 1) {
      const next = this.unchecked.next();
      if (next.done === true) this.unchecked = this.entries.entries();
      else this.entry(next.value[0]);
    }
  }

  private nowMs(): number {
    return Math.floor(this.host.nowMs());
  }
}

const text = (value: Value): string => (typeof value === 'string' ? value : String(value));

/** How often the action returns true. */
function count(values: readonly Value[], action: (value: string) => boolean): number {
  let times = 0;
  for (const value of values) if (action(text(value))) times += 1;
  return times;
}

/** A whole number of 64 bits. */
function integer(value: Value): number {
  const isInteger = typeof value === 'number' ? Number.isSafeInteger(value) : INTEGER.test(value) && isLong(value);
  if (!isInteger) throw new ServerError('ERR value is not an integer or out of range');
  return Number(value);
}

/** The milliseconds of an option of SET. */
function timeOf(value: Value): number {
  const ms = integer(value);
  if (ms <= 0) throw new ServerError("ERR invalid expire time in 'set' command");
  return ms;
}

/** The sum of two integers of 64 bits, as text. */
function sumOf(first: Value, second: Value): string {
  const [a, b] = [integer(first), integer(second)];
  if ([a, b, a + b].every(Number.isSafeInteger)) return String(a + b);
  const sum = String(BigInt(first) + BigInt(second));
  if (!isLong(sum)) throw new ServerError('ERR increment or decrement would overflow');
  return sum;
}

function isLong(digits: string): boolean {
  return digits.length < 18 || BigInt.asIntN(64, BigInt(digits)) === BigInt(digits);
}

/** Finds the places `from` up to, and without, `to` in a sorted set. */
type Places = (set: SortedSet) => [from: number, to: number];

/** The places with scores from `min` to `max`; `(` before a number excludes it. */
function placesByScore(min: Value, max: Value): Places {
  const [lowest, highest] = [boundOf(min), boundOf(max)];
  return (set) => [set.countBelow(lowest.score, lowest.isExcluded), set.countBelow(highest.score, !highest.isExcluded)];
}

/** Places from `start` to `stop`, both included; negative ones count from the end. */
function placesByIndex(start: number, stop: number): Places {
  const place = (index: number, size: number): number => Math.max(index < 0 ? index + size : index, -1);
  return ({ size }) => [Math.max(place(start, size), 0), place(stop, size) + 1];
}

function boundOf(value: Value): { readonly score: number; readonly isExcluded: boolean } {
  const isExcluded = typeof value === 'string' && value.startsWith('(');
  const score = Number(text(isExcluded ? value.slice(1) : value).replace(/inf$/, 'Infinity'));
  if (Number.isNaN(score)) throw new ServerError('ERR min or max is not a float');
  return { score, isExcluded };
}

function flat(found: readonly Scored[], withScores: boolean): string[] {
  const words: string[] = [];
  for (const { member, score } of found) {
    words.push(member);
    if (withScores) words.push(String(score));
  }
  return words;
}
