/** An error that the server replied with. */
export interface Fault {
  readonly err: string;
}

/** A status reply, such as OK. */
export interface Status {
  readonly ok: string;
}

export type Time = readonly [seconds: string, microseconds: string];

export type Value = string | number;

/** The options of SET in these forms. */
type SetOptions =
  [] | ['GET'] | ['KEEPTTL'] | ['NX', 'PX', Value] | ['PX', Value] | ['PX', Value, 'GET'] | ['PXAT', Value];
type Limit = [] | ['LIMIT', 0 | '0', Value];
type Scores = [] | ['WITHSCORES'];
/** The options of ZRANGE. A range of places has no limit. */
type RangeOptions = Scores | ['BYSCORE', ...([] | ['REV']), ...Limit, ...Scores];

/**
 * The Redis commands that the rules use, with their replies as a script receives them: an absent value is `false`, scores are
 * text. In Redis this is the global `redis`; elsewhere the rules run on a server in memory.
 * @noSelf
 */
export interface Server {
  call(name: 'GET', key: string): string | false;
  call(name: 'SET', key: string, value: Value, ...options: SetOptions): Status | string | false;
  call(name: 'ZSCORE', key: string, member: string): string | false;
  call(name: 'ZPOPMIN', key: string): string[];
  call(name: 'ZRANGE', key: string, first: Value, last: Value, ...options: RangeOptions): string[];
  call(name: 'ZRANGEBYSCORE', key: string, min: Value, max: Value, ...options: Limit): string[];
  call(name: 'TIME'): Time;
  call(name: 'ZADD', key: string, ...optionScoreAndMember: [Value, string] | ['NX' | 'GT', Value, string]): number;
  call(name: 'ZREMRANGEBYSCORE', key: string, min: Value, max: Value): number;
  call(name: 'PEXPIRE', key: string, ms: Value): number;
  call(name: 'PEXPIREAT', key: string, ms: Value, ...option: [] | ['GT']): number;
  call(name: 'DEL' | 'UNLINK' | 'EXISTS' | 'PTTL' | 'ZCARD' | 'ZREM', ...keys: string[]): number;
  /** As `call`, but returns an error instead of throwing it. */
  pcall(name: 'GET', key: string): string | false | Fault;
  pcall(name: 'SET', key: string, value: Value, ...options: [...([] | ['NX']), 'PX', Value]): Status | false | Fault;
  pcall(name: 'PUBLISH' | 'SPUBLISH', channel: string, message: string): number | Fault;
  pcall(name: 'INCRBY', key: string, by: Value): number | Fault;
}

/** The server of the present script. Scripts never overlap. */
export let redis: Server;
/** The keys of the present script. */
export let KEYS: readonly string[] = [];
/** The arguments of the present script. */
export let ARGV: readonly string[] = [];

/** Sets what a script in Redis finds as globals. */
export function useServer(server: Server, keys: readonly string[], args: readonly string[]): void {
  redis = server;
  KEYS = keys;
  ARGV = args;
}
