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

/**
 * The Redis commands that the rules use, with their replies as a script receives them: an absent value is `false`, scores are
 * text. In Redis this is the global `redis`; elsewhere the rules run on a server in memory.
 * @noSelf
 */
export interface Server {
  call(name: 'GET', key: string): string | false;
  call(name: 'SET', ...keyValueAndOptions: Value[]): Status | string | false;
  call(name: 'ZSCORE', key: string, member: string): string | false;
  call(name: 'ZPOPMIN' | 'ZRANGE' | 'ZRANGEBYSCORE', ...keyAndRange: Value[]): string[];
  call(name: 'TIME'): Time;
  call(name: 'ZADD' | 'PEXPIRE' | 'PEXPIREAT' | 'ZREMRANGEBYSCORE', ...keyAndValues: Value[]): number;
  call(name: 'DEL' | 'UNLINK' | 'EXISTS' | 'PTTL' | 'ZCARD' | 'ZREM', ...keys: string[]): number;
  /** As `call`, but returns an error instead of throwing it. */
  pcall(name: 'GET', key: string): string | false | Fault;
  pcall(name: 'SET', ...keyValueAndOptions: Value[]): Status | false | Fault;
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
