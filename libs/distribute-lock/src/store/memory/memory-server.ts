import type { Fault, Server, Status, Value } from '../protocol/server.js';
import {
  addOptionsOf,
  integer,
  placesByScore,
  rangeOf,
  scoreOf,
  scoreText,
  ServerError,
  setOptionsOf,
  sumOf,
  text,
  type Places,
} from './command-arguments.js';
import { SortedSet, type Scored } from './sorted-set.js';

export { ServerError };

export interface MemoryServerHost {
  /** The time in milliseconds; it may have a fraction. */
  nowMs(): number;
  /** Returns how many subscribers received the message. */
  publish(channel: string, message: string): number;
}

type ServerReply = string | number | false | Status | string[];

/** A key, its value or its members and scores in turn, and the millisecond of its end, if it has one. */
export type DumpedKey = readonly [key: string, value: string | readonly string[], endsAt: number | undefined];

interface Entry {
  readonly value: string | SortedSet;
  /** The last millisecond in which the key exists; `Infinity` for a key without an end. */
  endsAt: number;
}

const OK: Status = { ok: 'OK' };
const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';
/** Number of keys that a new value checks for expiry. Two remove more keys than one value adds. */
const CHECKED = 2;

/**
 * The Redis commands that the rules use, in memory. The replies are those of Redis 7 to a Lua script. A script in Redis
 * sees one time from start to end; here `host.nowMs()` decides that.
 */
export class MemoryServer implements Server {
  /** Returns the reply of the command. Throws a `ServerError` where Redis replies with an error. */
  readonly call = ((name: string, ...args: Value[]) => this.execute(name, args)) as Server['call'];
  /** As `call`, but returns an error instead of throwing it. */
  readonly pcall = ((name: string, ...args: Value[]) => this.attempt(name, args)) as Server['pcall'];

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
    const key = text(args[0]);
    switch (name) {
      case 'GET':
        return this.string(key) ?? false;
      case 'SET':
        return this.set(key, args);
      case 'DEL':
      case 'UNLINK':
        return count(args, (each) => this.entry(each) !== undefined && this.entries.delete(each));
      case 'EXISTS':
        return count(args, (each) => this.entry(each) !== undefined);
      case 'PTTL':
        return this.leftMs(key);
      case 'PEXPIRE':
        return this.expire(key, this.nowMs(), args);
      case 'PEXPIREAT':
        return this.expire(key, 0, args);
      case 'INCRBY':
        return this.increase(key, args[1]);
      case 'PUBLISH':
      case 'SPUBLISH':
        return this.host.publish(key, text(args[1]));
      case 'TIME':
        return this.time();
      default:
        return this.executeOnSet(name, key, args);
    }
  }

  private executeOnSet(name: string, key: string, args: readonly Value[]): ServerReply {
    switch (name) {
      case 'ZADD':
        return this.add(key, args);
      case 'ZREM':
        return this.changed(key, 0, (set) => count(args.slice(1), (member) => set.remove(member)));
      case 'ZSCORE': {
        const score = this.sortedSet(key)?.score(text(args[1]));
        return score === undefined ? false : scoreText(score);
      }
      case 'ZCARD':
        return this.sortedSet(key)?.size ?? 0;
      case 'ZPOPMIN':
        return flat(
          this.remove(key, () => [0, 1]),
          true,
        );
      case 'ZRANGE':
        return this.range(key, args, false);
      case 'ZRANGEBYSCORE':
        return this.range(key, args, true);
      case 'ZREMRANGEBYSCORE':
        return this.remove(key, placesByScore(args[1], args[2])).length;
      default:
        throw new ServerError('ERR Unknown Redis command called from script');
    }
  }

  private set(key: string, args: readonly Value[]): ServerReply {
    const { nx, get, ttl, ms } = setOptionsOf(args);
    const old = get ? (this.string(key) ?? false) : OK;
    const present = nx || ttl === 'KEEPTTL' ? this.entry(key) : undefined;
    if (nx && present !== undefined) return get ? old : false;
    const endsAt = ttl === 'KEEPTTL' ? (present?.endsAt ?? Infinity) : ms;
    this.put(key, text(args[1]), ttl === 'PX' ? this.nowMs() + ms : endsAt);
    return old;
  }

  /** Sets the end of the key, which the second argument counts from `sinceMs`. An end that has come deletes the key. */
  private expire(key: string, sinceMs: number, [, ms, option]: readonly Value[]): number {
    if (option !== undefined && option !== 'GT') throw new ServerError(`ERR Unsupported option ${option}`);
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
    const { at, nx, gt } = addOptionsOf(args);
    const score = scoreOf(args[at]);
    const member = text(args[at + 1]);
    const set = this.sortedSet(key);
    const old = set?.score(member);
    if (old !== undefined && (nx || (gt && score <= old))) return 0;
    (set ?? this.put(key, new SortedSet(), Infinity)).set(member, score);
    return old === undefined ? 1 : 0;
  }

  private range(key: string, args: readonly Value[], byScore: boolean): string[] {
    const { places, rev, offset, limit, withScores } = rangeOf(args, byScore);
    const set = this.sortedSet(key);
    if (set === undefined || offset < 0) return [];
    let [from, to] = places(set);
    if (rev) to -= offset;
    else from += offset;
    if (limit >= 0 && rev) from = Math.max(from, to - limit);
    else if (limit >= 0) to = Math.min(to, from + limit);
    if (from >= to) return [];
    const found = set.slice(from, to);
    return flat(rev ? found.reverse() : found, withScores);
  }

  private remove(key: string, places: Places): readonly Scored[] {
    return this.changed(key, [], (set) => {
      const [from, to] = places(set);
      return set.removeBetween(from, to);
    });
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

/** How often the action returns true. */
function count(values: readonly Value[], action: (value: string) => boolean): number {
  let times = 0;
  for (const value of values) if (action(text(value))) times += 1;
  return times;
}

function flat(found: readonly Scored[], withScores: boolean): string[] {
  const words: string[] = [];
  for (const { member, score } of found) {
    words.push(member);
    if (withScores) words.push(scoreText(score));
  }
  return words;
}
