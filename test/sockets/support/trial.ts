import { setTimeout as sleep } from 'node:timers/promises';

import { loop, type Usage } from '../../fault/support/load.js';
import type { Locks } from '../../fault/support/lock-engine.js';
import type { LockProcess } from '../../fault/support/lock-process.js';
import type { Hold } from '../../fault/support/loops.js';
import { monotonicMs } from '../../support/monotonic.js';
import { fencingTokensRise, overlaps } from '../../fault/support/witness.js';
import type { FaultProxy } from '../../support/proxy/fault-proxy.js';
import type { ProxiedConnection } from '../../support/proxy/proxied-connection.js';

/** The process whose connections fail. */
export interface Affected {
  readonly process: LockProcess;
  /** Its proxies to the servers, in their order. */
  readonly ways: readonly FaultProxy[];
  /** Its proxy to the server of the key. */
  readonly home: FaultProxy;
}

export interface Fault {
  readonly role: string;
  readonly fault: string;
  /** Whether the client must close the connection that broke. */
  readonly replaced?: boolean;
  /** Starts the fault and resolves with the connection that broke. */
  readonly begin: (affected: Affected) => Promise<ProxiedConnection | void>;
  readonly end?: (affected: Affected, broken: ProxiedConnection | void) => Promise<unknown>;
  /** How long the fault lasts, if it ends. */
  readonly lastsMs?: number;
}

export interface TrialPlan {
  readonly key: string;
  readonly affected: Affected;
  readonly healthy: readonly Locks[];
  /** The processes must have their rate again after this time. */
  readonly recoveryMs: number;
}

const BEFORE_MS = 3_000;
/** The first holds wait for connections, so they do not count. */
const WARM_UP_MS = 1_000;
const AFTER_MS = 3_000;
const WINDOW_MS = 2_000;
/** `ttl` and `wait` are longer than a trial, so that the end of a lease cannot hide a missing recovery. */
const LOOP = { holdMs: 30, ttl: '30s', wait: '30s' } as const;

/** Results of three processes that loop on one key, before and after the sockets of one of them failed. */
export interface Report {
  readonly overlaps: number;
  readonly fencingTokensRise: boolean;
  /** Whether every call settled. */
  readonly settled: boolean;
  /** Errors and warnings of the affected process outside its promises. */
  readonly trouble: readonly string[];
  /** Outcomes of calls that were not granted. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Share of the rate before the fault, measured after the recovery time. */
  readonly healthyShare: number;
  /** The longest time without a lock for the affected process. */
  readonly affectedGapMs: number;
  /** The time from the fault until all processes together reach half of their rate, and keep it. */
  readonly recoveredMs: number;
  /** The time from the fault until the client closed the connection. */
  readonly detectedMs: number | undefined;
  /** CPU share of the affected process after the fault. */
  readonly cpuShare: number;
  readonly grownBytes: number;
  /** Requests of the affected process per second. */
  readonly requestsBefore: number;
  readonly requestsAfter: number;
}

export async function runTrial(fault: Fault, { key, affected, healthy, recoveryMs }: TrialPlan): Promise<Report> {
  const forMs = BEFORE_MS + recoveryMs + AFTER_MS;
  const startedAt = monotonicMs();
  const requestsAtStart = requestsOf(affected);
  const plan = { ...LOOP, key, forMs };
  const loops = [affected.process.do('loop', plan), ...healthy.map((locks) => loop(locks, plan))];
  await sleep(BEFORE_MS);
  const before = await affected.process.do('usage', undefined);
  const requestsBefore = requestsOf(affected);
  const faultAt = monotonicMs();
  const broken = await breakIt(fault, affected, recoveryMs);
  const ended = await Promise.all(loops);
  const times = { startedAt, faultAt, recoveredBy: faultAt + recoveryMs, endedAt: startedAt + forMs };
  return {
    ...looped(ended, times),
    trouble: affected.process.trouble.splice(0),
    detectedMs: broken?.closedAt === undefined ? undefined : broken.closedAt - faultAt,
    ...spent(before, await affected.process.do('usage', undefined)),
    requestsBefore: (requestsBefore - requestsAtStart) / (BEFORE_MS / 1_000),
    requestsAfter: (requestsOf(affected) - requestsBefore) / ((times.endedAt - faultAt) / 1_000),
  };
}

async function breakIt(fault: Fault, affected: Affected, limitMs: number): Promise<ProxiedConnection | void> {
  // The fault never starts when the awaited reply never comes.
  const broken = await Promise.race([fault.begin(affected), sleep(limitMs)]);
  if (fault.lastsMs !== undefined) {
    await sleep(fault.lastsMs);
    await fault.end?.(affected, broken);
  }
  return broken;
}

type Looped = Awaited<ReturnType<typeof loop>>;

interface Times {
  readonly startedAt: number;
  readonly faultAt: number;
  readonly recoveredBy: number;
  readonly endedAt: number;
}

/** @param ended - the results; the first loop is that of the affected process */
function looped(ended: readonly Looped[], { startedAt, faultAt, recoveredBy, endedAt }: Times) {
  const warmAt = startedAt + WARM_UP_MS;
  const holds = ended.flatMap((each) => each.holds);
  const healthy = ended.slice(1).flatMap((each) => each.holds);
  return {
    overlaps: overlaps(holds).length,
    fencingTokensRise: fencingTokensRise(holds),
    settled: ended.every((each) => each.settled),
    refusals: Object.assign({}, ...ended.map(({ refusals }) => refusals)) as Record<string, number>,
    healthyShare: rateOf(healthy, recoveredBy, endedAt) / rateOf(healthy, warmAt, faultAt),
    affectedGapMs: longestGap(ended[0].holds, faultAt, endedAt),
    recoveredMs: recoveredAt(holds, rateOf(holds, warmAt, faultAt) / 2, faultAt, endedAt) - faultAt,
  };
}

const requestsOf = ({ ways }: Affected): number => ways.reduce((sum, { requests }) => sum + requests, 0);

function spent(before: Usage, after: Usage): Pick<Report, 'cpuShare' | 'grownBytes'> {
  return {
    cpuShare: (after.cpuMs - before.cpuMs) / (after.at - before.at),
    grownBytes: after.memoryBytes - before.memoryBytes,
  };
}

const count = (holds: readonly Hold[], from: number, to: number): number =>
  holds.filter(({ entered }) => entered >= from && entered < to).length;

const rateOf = (holds: readonly Hold[], from: number, to: number): number =>
  (count(holds, from, to) * 1_000) / (to - from);

function longestGap(holds: readonly Hold[], from: number, to: number): number {
  const times = holds.map(({ entered }) => entered).filter((at) => at >= from && at < to);
  const edges = [from, ...times, to];
  return Math.max(...edges.slice(1).map((at, i) => at - edges[i]));
}

/** The end of the last window with fewer than `rate` holds a second. */
function recoveredAt(holds: readonly Hold[], rate: number, from: number, to: number): number {
  for (let at = to - WINDOW_MS; at > from; at -= WINDOW_MS / 10) {
    if (count(holds, at, at + WINDOW_MS) < (rate * WINDOW_MS) / 1_000) return at + WINDOW_MS;
  }
  return from;
}
