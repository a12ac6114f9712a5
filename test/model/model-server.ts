/**
 * The commands of Redis that the rules use, on the keys of one state. Each change replaces an entry, so states share the
 * entries that did not change. `server-check.ts` compares it with the server in memory, which is compared with
 * Redis.
 */
import type { Server } from '../../libs/distribute-lock/src/store/protocol/server.js';
import { NO_SCORES, NONE, type Entry, type Names, type State } from './state.js';

type Value = string | number;
type Reply = string | number | false | string[] | { ok: string } | { err: string };

const OK = { ok: 'OK' };

export class ModelServer implements Server {
  state!: State;
  /** Messages of the last script, for the schedule. */
  messages: string[] = [];
  readonly call = ((name: string, ...args: Value[]) => this.execute(name, args)) as Server['call'];
  readonly pcall = this.call as unknown as Server['pcall'];

  constructor(private readonly names: Names) {}

  private entry(index: number): Entry | undefined {
    const entry = this.state.entries[index];
    return entry === undefined || this.state.now > entry.endsAt ? undefined : entry;
  }

  private execute(name: string, args: readonly Value[]): Reply {
    if (name === 'TIME') return this.time();
    if (name === 'PUBLISH') return this.publish(String(args[0]), String(args[1]));
    const index = this.names.keyIndex(args[0] as string);
    const entry = this.entry(index);
    switch (name) {
      case 'GET':
        return entry === undefined ? false : entry.value!;
      case 'EXISTS':
        return args.filter((key) => this.entry(this.names.keyIndex(key as string)) !== undefined).length;
      case 'DEL':
      case 'UNLINK':
        return args.filter((key) => this.remove(this.names.keyIndex(key as string))).length;
      case 'PTTL':
        if (entry === undefined) return -2;
        return entry.endsAt === Infinity ? -1 : entry.endsAt - this.state.now;
      case 'PEXPIRE':
        return this.expire(index, entry, this.state.now + Number(args[1]), args[2]);
      case 'PEXPIREAT':
        return this.expire(index, entry, Number(args[1]), args[2]);
      case 'SET':
        return this.set(index, entry, args);
      case 'INCRBY': {
        const sum = Number(entry?.value ?? 0) + Number(args[1]);
        this.put(index, String(sum), entry?.endsAt ?? Infinity);
        return sum;
      }
      default:
        return this.executeOnSet(name, index, entry, args);
    }
  }

  private executeOnSet(name: string, index: number, entry: Entry | undefined, args: readonly Value[]): Reply {
    switch (name) {
      case 'ZADD':
        return this.add(index, entry, args);
      case 'ZREM':
        return this.removeMembers(index, entry, args);
      case 'ZCARD':
        return entry?.members.length ?? 0;
      case 'ZSCORE': {
        const at = entry?.members.indexOf(args[1] as string) ?? -1;
        return at < 0 ? false : String(entry!.scores[at]);
      }
      case 'ZPOPMIN': {
        if (entry === undefined) return [];
        const popped = [entry.members[0], String(entry.scores[0])];
        this.removeMembers(index, entry, [args[0], entry.members[0]]);
        return popped;
      }
      case 'ZRANGE':
        return range(entry, args, args.includes('BYSCORE'));
      case 'ZRANGEBYSCORE':
        return range(entry, args, true);
      default:
        throw new Error(`The rules used an unknown command: ${name}`);
    }
  }

  private time(): string[] {
    const { now } = this.state;
    return [String(Math.floor(now / 1000)), String((now % 1000) * 1000)];
  }

  private publish(channel: string, message: string): number {
    this.messages.push(message);
    const process = this.names.processes.findIndex((id) => channel.endsWith(id.slice(0, 11)));
    return process >= 0 && (this.state.subscribed & (1 << process)) !== 0 ? 1 : 0;
  }

  private put(index: number, value: string, endsAt: number): void {
    this.state.entries[index] = { value, members: NONE, scores: NO_SCORES, endsAt };
  }

  private remove(index: number): boolean {
    const existed = this.entry(index) !== undefined;
    this.state.entries[index] = undefined;
    return existed;
  }

  private expire(index: number, entry: Entry | undefined, endsAt: number, option?: Value): number {
    if (entry === undefined || (option === 'GT' && endsAt <= entry.endsAt)) return 0;
    this.state.entries[index] = endsAt <= this.state.now ? undefined : { ...entry, endsAt };
    return 1;
  }

  private set(index: number, entry: Entry | undefined, args: readonly Value[]): Reply {
    let endsAt = Infinity;
    let isRead = false;
    for (let i = 2; i < args.length; i += 1) {
      const option = args[i];
      if (option === 'NX' && entry !== undefined) return false;
      if (option === 'GET') isRead = true;
      if (option === 'PX') endsAt = this.state.now + Number(args[++i]);
      if (option === 'PXAT') endsAt = Number(args[++i]);
      if (option === 'KEEPTTL') endsAt = entry?.endsAt ?? Infinity;
    }
    this.put(index, String(args[1]), endsAt);
    if (!isRead) return OK;
    return entry?.value ?? false;
  }

  private add(index: number, entry: Entry | undefined, args: readonly Value[]): number {
    const score = Number(args.at(-2));
    const member = args.at(-1) as string;
    const option = args.length > 3 ? args[1] : '';
    const old = entry?.members.indexOf(member) ?? -1;
    if (old >= 0 && (option === 'NX' || (option === 'GT' && score <= entry!.scores[old]))) return 0;
    const members = entry?.members.slice() ?? [];
    const scores = entry?.scores.slice() ?? [];
    if (old >= 0) {
      members.splice(old, 1);
      scores.splice(old, 1);
    }
    let at = 0;
    while (at < scores.length && (scores[at] < score || (scores[at] === score && members[at] < member))) at += 1;
    members.splice(at, 0, member);
    scores.splice(at, 0, score);
    this.state.entries[index] = { value: undefined, members, scores, endsAt: entry?.endsAt ?? Infinity };
    return old >= 0 ? 0 : 1;
  }

  private removeMembers(index: number, entry: Entry | undefined, args: readonly Value[]): number {
    if (entry === undefined) return 0;
    const members: string[] = [];
    const scores: number[] = [];
    for (let i = 0; i < entry.members.length; i += 1) {
      if (args.indexOf(entry.members[i], 1) < 0) {
        members.push(entry.members[i]);
        scores.push(entry.scores[i]);
      }
    }
    const removed = entry.members.length - members.length;
    if (removed > 0) {
      this.state.entries[index] =
        members.length === 0 ? undefined : { value: undefined, members, scores, endsAt: entry.endsAt };
    }
    return removed;
  }
}

function range(entry: Entry | undefined, args: readonly Value[], byScore: boolean): string[] {
  if (entry === undefined) return [];
  const isReversed = args.includes('REV');
  const size = entry.members.length;
  let places: number[] = [];
  if (byScore) {
    const [low, high] = isReversed ? [args[2], args[1]] : [args[1], args[2]];
    for (let i = 0; i < size; i += 1) {
      if (isWithin(entry.scores[i], low, 1) && isWithin(entry.scores[i], high, -1)) places.push(i);
    }
  } else {
    const [start, stop] = [Number(args[1]), Number(args[2])];
    const from = Math.max(start < 0 ? start + size : start, 0);
    const to = Math.min(stop < 0 ? stop + size : stop, size - 1);
    for (let i = from; i <= to; i += 1) places.push(i);
  }
  if (isReversed) places.reverse();
  const limit = args.indexOf('LIMIT');
  if (limit > 0) places = places.slice(Number(args[limit + 1]), Number(args[limit + 1]) + Number(args[limit + 2]));
  if (!args.includes('WITHSCORES')) return places.map((i) => entry.members[i]);
  return places.flatMap((i) => [entry.members[i], String(entry.scores[i])]);
}

/** Whether the score is on the right side of a bound; `(` before a number excludes it. */
function isWithin(score: number, bound: Value, side: 1 | -1): boolean {
  if (bound === '-inf' || bound === '+inf' || bound === 'inf') return (bound === '-inf') === (side === 1);
  const isExcluded = typeof bound === 'string' && bound.startsWith('(');
  const difference = (score - Number(isExcluded ? bound.slice(1) : bound)) * side;
  return isExcluded ? difference > 0 : difference >= 0;
}
