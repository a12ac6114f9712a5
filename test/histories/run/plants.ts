import { AsyncLocalStorage } from 'node:async_hooks';

import {
  isLockError,
  LockContendedError,
  LockUnavailableError,
  LockWaitTimeoutError,
} from '../../../libs/distribute-lock/src/errors.js';
import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import type { Grant } from '../../../libs/distribute-lock/src/engine/lease/grant.js';
import type { Locks } from '../../../libs/distribute-lock/src/locks/locks.js';
import type { AcquireOptions } from '../../../libs/distribute-lock/src/options/lock-options.js';
import type { AcquireAnswer, AcquireRequest, LockStore } from '../../../libs/distribute-lock/src/store/lock-store.js';
import { Redis } from 'ioredis';
import { PREFIX } from '../../fault/support/lock-engine.js';
import { handlesOf } from './lease-facts.js';
import type { RedisServer } from '../../support/redis-server.js';
import type { OperationTools } from './operation.js';
import type { WorkerSettings } from './worker.js';

type Keys = string | readonly string[];
type Work = (lease: Lease) => Promise<void>;
type WithLock = (key: Keys, options: AcquireOptions, work: Work) => Promise<void>;
type Acquire = (key: Keys, options?: AcquireOptions) => Promise<Lease>;

interface Plant {
  /** Replaces a reply of the store. */
  readonly answer?: (answer: AcquireAnswer, request: AcquireRequest) => AcquireAnswer;
  /** Replaces `acquire`. */
  readonly acquire?: (acquire: Acquire, key: Keys, options: AcquireOptions) => Promise<Lease>;
  /** Replaces `attach`. */
  readonly attach?: (attach: Locks['attach'], ticket: string) => Promise<Lease>;
  /** Replaces `withLock`. */
  readonly withLock?: (withLock: WithLock, key: Keys, options: AcquireOptions, work: Work) => Promise<void>;
  /** Replaces `outsideLocks`. */
  readonly outside?: <T>(work: () => T) => T;
  /** Replaces the value that a holder reads from the resource. */
  readonly read?: (version: number) => number;
  /** Runs on the new primary. */
  readonly afterFailover?: (primary: RedisServer) => Promise<unknown>;
  /** Runs once, at the start. */
  readonly start?: (settings: WorkerSettings) => Promise<unknown>;
}

/** Violations that the checker must report, one of each kind, in an otherwise correct process. */
const PLANTS = {
  'second holder': { answer: sometimes(5, granted) },
  'too many permits': { answer: sometimes(5, granted) },
  'falling token': { answer: sometimes(10, tokenOfYesterday) },
  'token of an old block': {
    acquire: async (acquire, key, options) => withTokenOfGrant(await acquire(key, options)),
  },
  'ignored loss': { acquire: async (acquire, key, options) => neverLost(await acquire(key, options)) },
  'endless lease': { acquire: async (acquire, key, options) => provenForLonger(await acquire(key, options)) },
  'hanging call': { acquire: every(20, () => new Promise<Lease>(() => {})) },
  'late answer': { acquire: every(20, async (acquire, key, options) => later(await acquire(key, options))) },
  'free lock refused': { acquire: every(20, waitInVain) },
  'contention without a holder': {
    answer: sometimes(10, refusedForNothing),
  },
  'contention in an outage': { acquire: (acquire, key, options) => acquire(key, options).catch(refusedInstead) },
  'overtaken caller': { acquire: every(10, (acquire, key, options) => pause(400).then(() => acquire(key, options))) },
  'untyped error': { acquire: every(20, () => Promise.reject(new TypeError('planted'))) },
  'lease lost for nothing': {
    acquire: every(20, async (acquire, key, options) => soonLost(await acquire(key, options))),
  },
  'key granted too early': { acquire: (acquire, key, options) => acquire(key, { ...options, minHold: 0 }) },
  'uncounted nested call': { withLock: beside },
  'detached work inside the lock': { outside: (work) => work() },
  'ticket used again': { attach: attachedAgain },
  'hold before its claim': {
    start: ({ url }) => Promise.resolve(void (redisOfPlant = new Redis(url))),
    acquire: async (acquire, key, options) => validForAClaim(await acquire(key, options)),
  },
  'locks lost in a failover': { afterFailover: (primary) => primary.run((redis) => redis.flushall()) },
  'refused after an error': { acquire: every(20, refusedAtOnce) },
  'stale read': { read: sometimes(10, (version) => Math.max(0, version - 1)) },
  'key left behind': { start: ({ url }) => once(url, (redis) => redis.set(`${PREFIX}left`, 'planted', 'PX', 120_000)) },
  'key without an end': { start: ({ url }) => once(url, (redis) => redis.set(`${PREFIX}left`, 'planted')) },
  'stray rejection': { start: () => Promise.resolve(void Promise.reject(new Error('planted'))) },
} satisfies Record<string, Plant>;

export type PlantName = keyof typeof PLANTS;

/** A planted violation of the run, after a planned failover. */
export async function plantAfterFailover(name: PlantName | undefined, primary: RedisServer): Promise<void> {
  const plant: Plant = name === undefined ? {} : PLANTS[name];
  await plant.afterFailover?.(primary);
}

/** The store and the tools of a worker, with the violation that its settings name. */
export function plantIn(settings: WorkerSettings, store: LockStore) {
  const plant: Plant = settings.plant === undefined ? {} : PLANTS[settings.plant];
  void plant.start?.(settings);
  return {
    store: plant.answer === undefined ? store : answering(store, plant.answer),
    tools: (tools: OperationTools): OperationTools => {
      const { service, register } = tools;
      const acquire: Acquire = (key, options = {}) =>
        plant.acquire === undefined
          ? service.acquire(key, options)
          : plant.acquire((...call) => service.acquire(...call), key, options);
      const withLock: WithLock = (key, options, work) =>
        plant.withLock!((...call) => service.withLock(...call), key, options, work);
      const planted = Object.assign(
        Object.create(service) as typeof service,
        plant.acquire && { acquire },
        plant.withLock && { withLock },
        plant.attach && {
          attach: (ticket: string) => plant.attach!((...call) => service.attach(...call), ticket),
        },
      );
      const read = async (key: string): Promise<number> => plant.read!(await register.read(key));
      return {
        ...tools,
        service: planted,
        outside: plant.outside ?? tools.outside,
        register:
          plant.read === undefined
            ? register
            : { read, write: (...write) => register.write(...write), tickets: register.tickets },
      };
    },
  };
}

function answering(store: LockStore, answer: NonNullable<Plant['answer']>): LockStore {
  const acquire = async (request: AcquireRequest): Promise<AcquireAnswer> =>
    answer(await store.acquire(request), request);
  return Object.assign(Object.create(store) as LockStore, { acquire, acquireAll: undefined });
}

function sometimes<T, More extends unknown[]>(nth: number, change: (value: T, ...more: More) => T) {
  let calls = 0;
  return (value: T, ...more: More): T => ((calls += 1) % nth === 0 ? change(value, ...more) : value);
}

function every(nth: number, change: NonNullable<Plant['acquire']>): NonNullable<Plant['acquire']> {
  let calls = 0;
  return (acquire, key, options) => ((calls += 1) % nth === 0 ? change(acquire, key, options) : acquire(key, options));
}

/** Changes a reply to a grant, with a token that the register accepts. */
function granted(answer: AcquireAnswer): AcquireAnswer {
  return answer.outcome === 'granted' ? answer : { outcome: 'granted', fencingToken: Date.now() * 1_000, waiting: 0 };
}

function refusedForNothing(): AcquireAnswer {
  return { outcome: 'busy', remainingMs: 10, foreign: false };
}

function tokenOfYesterday(answer: AcquireAnswer): AcquireAnswer {
  return answer.outcome === 'granted' ? { ...answer, fencingToken: answer.fencingToken - 86_400_000_000 } : answer;
}

/** Reports a holder instead of an outage. */
function refusedInstead(error: unknown): never {
  if (!isLockError(error, 'LOCK_UNAVAILABLE')) throw error;
  throw new LockContendedError('planted', { key: error.key, retryAfterMs: 1 });
}

/** Makes a lease report that it is held, also after a loss. */
function neverLost(lease: Lease): Lease {
  return withChanges(lease, { isHeld: () => true, remainingMs: () => 5_000, signal: new AbortController().signal });
}

/** Makes a lease report a later end than that in the store. */
function provenForLonger(lease: Lease): Lease {
  return withChanges(lease, { remainingMs: () => lease.remainingMs() + 5_000 });
}

const firstTokens = new WeakMap<Grant, number>();

/** Makes a permit that is handed over in memory continue the block of its grant, though other permits were granted since. */
function withTokenOfGrant(lease: Lease): Lease {
  const [{ grant, key, fencingToken }] = handlesOf(lease);
  if (grant.passes === 1) firstTokens.set(grant, fencingToken);
  const first = firstTokens.get(grant) ?? fencingToken;
  return withChanges(lease, { fencingTokens: new Map([[key, first + grant.passes - 1]]) });
}

const CLAIM_WINDOW_MS = 1_750;

const outerLease = new AsyncLocalStorage<Lease>();

/** A reentrant call takes the lease of the call around it, which does not wait for its end. */
function beside(withLock: WithLock, key: Keys, options: AcquireOptions, work: Work): Promise<void> {
  const outer = outerLease.getStore();
  if (outer !== undefined && options.reentrant === true) return work(neverLost(outer));
  return withLock(key, options, (lease) => outerLease.run(lease, () => work(lease)));
}

/** Continues to work under the last lease of this process when a ticket was used. */
async function attachedAgain(attach: Locks['attach'], ticket: string): Promise<Lease> {
  const lease = await attach(ticket).catch((error: unknown) => {
    const last = attached.get(ticket);
    if (last === undefined || !isLockError(error, 'LEASE_LOST')) throw error;
    return neverLost(last);
  });
  attached.set(ticket, lease);
  return lease;
}

const attached = new Map<string, Lease>();

let redisOfPlant: Redis;

/** Ends the lease in Redis after the claim window, as if the holder had not claimed it yet. */
async function validForAClaim(lease: Lease): Promise<Lease> {
  await redisOfPlant.pexpire(PREFIX + lease.key, CLAIM_WINDOW_MS);
  return lease;
}

function refusedAtOnce(_: Acquire, key: Keys): Promise<Lease> {
  return Promise.reject(new LockUnavailableError('planted', { key: String(key), retryAfterMs: 1 }));
}

function soonLost(lease: Lease): Lease {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('planted')), 1);
  return withChanges(lease, { signal: controller.signal });
}

function withChanges(lease: Lease, changes: Partial<Lease>): Lease {
  return new Proxy(lease, {
    get(target, name) {
      if (name in changes) return changes[name as keyof Lease];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

async function later(lease: Lease): Promise<Lease> {
  await pause(4_500);
  return lease;
}

async function waitInVain(_: Acquire, key: Keys, { wait }: AcquireOptions): Promise<Lease> {
  const waitedMs = Number(wait ?? 0);
  await pause(waitedMs);
  throw new LockWaitTimeoutError('planted', { key: String(key), waitedMs, retryAfterMs: 1 });
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function once(url: string, command: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(url);
  await command(redis);
  redis.disconnect();
}
