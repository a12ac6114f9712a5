import { setTimeout as sleep } from 'node:timers/promises';

import type { RedisServer } from '../../support/redis-server.js';

/** Commands that clients of the library send, and that none of its scripts calls. */
const SENT = ['evalsha', 'eval', 'ping', 'subscribe'];

/** A reading of the counters of servers. */
export interface Reading {
  readonly at: number;
  readonly commands: number;
  /** User and system time, milliseconds. */
  readonly cpuMs: number;
  readonly usedMemory: number;
}

/** Reads the counters of the servers; their sums. */
export async function read(...servers: readonly RedisServer[]): Promise<Reading> {
  const infos = await Promise.all(servers.map((server) => server.run((redis) => redis.info('everything'))));
  const sum = (value: (info: string) => number) => infos.reduce((total, info) => total + value(info), 0);
  return {
    at: performance.now(),
    commands: sum((info) => SENT.reduce((total, name) => total + numberIn(info, `cmdstat_${name}:calls=`), 0)),
    cpuMs: 1_000 * sum((info) => numberIn(info, 'used_cpu_user:') + numberIn(info, 'used_cpu_sys:')),
    usedMemory: sum((info) => numberIn(info, 'used_memory:')),
  };
}

/** Commands per second, and the share of one core in percent, between two readings. */
export function loadBetween(before: Reading, after: Reading): { readonly commandsPerS: number; readonly cpu: number } {
  const ms = after.at - before.at;
  return {
    commandsPerS: ((after.commands - before.commands) / ms) * 1_000,
    cpu: ((after.cpuMs - before.cpuMs) / ms) * 100,
  };
}

/** Counts the commands that reach the server from clients, by name, without those of scripts. */
export async function countCommands(server: RedisServer, forMs: number): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  await server.run(async (redis) => {
    const monitor = await redis.monitor();
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      const name = args[0].toLowerCase();
      if (source !== 'lua') counts.set(name, (counts.get(name) ?? 0) + 1);
    });
    await sleep(forMs);
    monitor.disconnect();
  });
  return counts;
}

/** The number behind the first `label` in the reply to INFO, or 0. */
export function numberIn(info: string, label: string): number {
  const at = info.indexOf(label);
  return at < 0 ? 0 : Number.parseFloat(info.slice(at + label.length));
}
