import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { isLockError } from '../../../libs/distribute-lock/src/errors.js';
import type { AcquireOptions } from '../../../libs/distribute-lock/src/options/lock-options.js';
import type { Locks } from './lock-engine.js';
import { hold, type Hold } from './loops.js';
import { monotonicMs } from '../../support/monotonic.js';

export interface CallsPlan extends Omit<AcquireOptions, 'signal'> {
  /** Prefix: each call uses a separate key. */
  readonly key: string;
  readonly perSecond: number;
  readonly forMs: number;
}

const SLICE_MS = 20;

/** Makes calls at a steady rate and releases each grant at once. Resolves with the outcomes when all have settled. */
export async function calls(locks: Locks, { key, perSecond, forMs, ...options }: CallsPlan) {
  const codes: Record<string, number> = {};
  const pending = new Set<Promise<void>>();
  const startedAt = monotonicMs();
  const ended = (code: string): void => void (codes[code] = (codes[code] ?? 0) + 1);
  const total = (perSecond * forMs) / 1_000;
  for (let made = 0; made < total; await sleep(SLICE_MS)) {
    locks.events.length = 0; // each event contains an error
    const due = Math.min(total, ((monotonicMs() - startedAt) / 1_000) * perSecond);
    for (; made < due; made += 1) {
      const call = locks.acquire(`${key}-${made}`, options).then(
        (lease) => lease.release().then(() => ended('granted')),
        (error: unknown) => ended(isLockError(error) ? error.code : String(error)),
      );
      pending.add(call);
      void call.finally(() => pending.delete(call));
    }
  }
  await Promise.all(pending);
  return codes;
}

export interface LoopPlan extends Omit<AcquireOptions, 'signal'> {
  readonly key: string;
  readonly forMs: number;
  /** The longest time of a hold. */
  readonly holdMs: number;
}

const SETTLES_WITHIN_MS = 1_500;

/**
 * One caller that acquires the lock repeatedly until an abort; `settled` tells whether its last call settled in time.
 */
export async function loop(locks: Locks, { key, forMs, holdMs, ...options }: LoopPlan) {
  const holds: Hold[] = [];
  const refusals: Record<string, number> = {};
  const end = AbortSignal.timeout(forMs);
  const caller = async (): Promise<boolean> => {
    while (!end.aborted) {
      try {
        holds.push(await hold(await locks.acquire(key, { ...options, signal: end }), Math.random() * holdMs));
      } catch (error) {
        const code = isLockError(error) ? error.code : String(error);
        if (!end.aborted) refusals[code] = (refusals[code] ?? 0) + 1;
        await sleep(20);
      }
    }
    return true;
  };
  const settled = await Promise.race([caller(), sleep(forMs + SETTLES_WITHIN_MS, false)]);
  return { holds, refusals, settled };
}

export interface Usage {
  readonly at: number;
  readonly cpuMs: number;
  /** Heap and buffers, after a garbage collection. */
  readonly memoryBytes: number;
  /** The longest lag of the event loop during which this process used the CPU. */
  readonly lagMs: number;
}

const TICK_MS = 25;

/** Measures the resources that this process uses. */
export class Meter {
  private lagMs = 0;
  private last = { at: monotonicMs(), cpuMs: cpuMs() };
  private readonly collectGarbage: () => void;

  constructor() {
    setFlagsFromString('--expose-gc');
    this.collectGarbage = runInNewContext('gc') as () => void;
    setInterval(() => this.tick(), TICK_MS).unref();
  }

  read(): Usage {
    this.tick();
    const { lagMs } = this;
    const { at, cpuMs: used } = this.last;
    this.collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    this.lagMs = 0;
    this.last = { at: monotonicMs(), cpuMs: cpuMs() };
    return { at, cpuMs: used, memoryBytes: heapUsed + external, lagMs };
  }

  /** Ignores lag without CPU use, because the machine ran other processes then. */
  private tick(): void {
    const now = { at: monotonicMs(), cpuMs: cpuMs() };
    const { at, cpuMs: used } = this.last;
    this.lagMs = Math.max(this.lagMs, Math.min(now.at - at, now.cpuMs - used) - TICK_MS);
    this.last = now;
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
