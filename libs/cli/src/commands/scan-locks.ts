import type { LockInspection } from 'nestjs-distribute-lock/core';

import { isDetached } from '../../../distribute-lock/src/runtime/owner-token.js';
import { stateOfValue } from '../../../distribute-lock/src/store/lock-value.js';
import { type RedisKeys, meetsHelperKey } from '../../../distribute-lock/src/store/redis/redis-keys.js';
import type { Server, Target } from '../doctor/target.js';

/** A held key, as the search found it. */
export interface ScannedLock {
  readonly key: string;
  readonly kind: LockInspection['kind'];
  readonly holders: number;
  /** Holders whose lease is detached: no process renews it, and a ticket continues it. */
  readonly detached: number;
  /** -1 when the key has no expiry. */
  readonly remainingMs: number;
  readonly waiting: number;
}

export interface Scan {
  readonly locks: readonly ScannedLock[];
  /** Whether the servers looked at all keys within the budget. */
  readonly complete: boolean;
}

/** Keys of one step of SCAN. It stops the server for less than a millisecond. */
const STEP = 500;

/** Reads the held keys of the prefix, in alphabetical order. Each server looks at no more keys than its part of `budget`. */
export async function scanLocks({ servers, keys }: Target, match: string, budget: number): Promise<Scan> {
  const part = Math.ceil(budget / servers.length);
  const scans = await Promise.all(servers.map((server) => scanServer(server, keys, match, part)));
  const locks = new Map(scans.flatMap((scan) => scan.locks).map((lock) => [lock.key, lock]));
  return {
    locks: [...locks.values()].sort((a, b) => (a.key < b.key ? -1 : 1)),
    complete: scans.every(({ complete }) => complete),
  };
}

async function scanServer(server: Server, keys: RedisKeys, match: string, budget: number): Promise<Scan> {
  const pattern = escaped(keys.prefix) + match;
  const locks: ScannedLock[] = [];
  let [cursor, scanned] = ['0', 0];
  do {
    const step = Math.min(STEP, budget - scanned);
    const [next, found] = await server.client.scan(cursor, 'MATCH', pattern, 'COUNT', step);
    // Without a prefix the pattern matches helper keys, too.
    const names = found.filter((name) => keys.prefix !== '' || !meetsHelperKey(name));
    if (names.length > 0) locks.push(...(await readLocks(server, keys, names)));
    cursor = next;
    scanned += step;
  } while (cursor !== '0' && scanned < budget);
  return { locks, complete: cursor === '0' };
}

const COMMANDS = 6;

async function readLocks({ client }: Server, keys: RedisKeys, names: readonly string[]): Promise<ScannedLock[]> {
  const pipeline = client.pipeline();
  for (const name of names) {
    const [permits, permitsQueue] = keys.permits(name);
    pipeline
      .get(name)
      .pttl(name)
      .zcard(keys.readers(name))
      .zrange(permits, 0, '-1')
      .zcard(keys.queue(name))
      .zcard(permitsQueue);
  }
  const replies = (await pipeline.exec()) ?? [];
  return names.flatMap((name, i) => {
    const [value, left, readers, permits, queue, permitsQueue] = replies
      .slice(COMMANDS * i, COMMANDS * (i + 1))
      .map(([error, reply]) => (error === null ? reply : undefined));
    // The lock was released in between, or the key has a value of another type.
    if (typeof value !== 'string') return [];
    // No reader is detached, so the number of readers suffices.
    const read = Array.from({ length: Number(readers ?? 0) }, () => '');
    const { kind, holders } = stateOfValue(value, read, (permits ?? []) as string[]);
    const detached = kind === 'foreign' ? 0 : holders.filter(isDetached).length;
    const waiting = Number(queue ?? 0) + Number(permitsQueue ?? 0);
    const key = name.slice(keys.prefix.length);
    return [{ key, kind, holders: holders.length, detached, remainingMs: Number(left), waiting }];
  });
}

/** The text as a literal part of a pattern. */
const escaped = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&');
