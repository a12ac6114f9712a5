import { isLockError } from '../../../libs/distribute-lock/src/errors.js';
import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import { Locks as Door } from '../../../libs/distribute-lock/src/locks/locks.js';
import { parentProcess } from '../../support/parent-process.js';
import { openLocks, type Connection, type StoreSettings } from './lock-engine.js';
import { abort as abortNow, crowd } from './crowd.js';
import { calls, loop, Meter } from './load.js';
import { fight, flood } from './loops.js';
import { monotonicMs } from '../../support/monotonic.js';
import type { Commands, Held, LeaseNumber } from './lock-process.js';

/** Executes lock commands of its parent process and reports when they were done. Ends after its shutdown. */
const parent = parentProcess<{ call: { id: number; name: keyof Commands; args: unknown } }>();

// The tests assert that no error and no warning occurs outside a promise.
const trouble = (what: string) => (error: unknown) =>
  parent.send('trouble', `${what}: ${error instanceof Error ? error.stack : String(error)}`);
process.on('warning', trouble('warning'));
process.on('unhandledRejection', trouble('unhandled rejection'));
process.on('uncaughtException', trouble('uncaught exception'));

const locks = openLocks(
  JSON.parse(process.env['LOCK_CONNECTION'] ?? '') as Connection,
  {},
  JSON.parse(process.env['LOCK_STORE'] ?? '{}') as StoreSettings,
);
const awake = setInterval(() => {}, 60_000);
const door = new Door(() => locks.engine);
const leases: Lease[] = [];
const aborts = new Map<string, AbortController>();
let meter: Meter | undefined;

const heldAt = (lease: Lease) => ({ held: lease.isHeld(), at: monotonicMs() });

function keep(lease: Lease): Held {
  const { fencingToken, fencingTokens } = lease;
  const number = (leases.push(lease) - 1) as LeaseNumber;
  return { lease: number, fencingToken, fencingTokens: Object.fromEntries(fencingTokens), at: monotonicMs() };
}

/** Blocks the thread, so that no timer runs and no socket is read. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Resolves in the first turn of the event loop after it was blocked for longer than `ms`. */
function afterStandstill(ms: number): Promise<void> {
  return new Promise((resolve) => {
    let last = monotonicMs();
    const ticking = setInterval(() => {
      const now = monotonicMs();
      if (now - last > ms) {
        clearInterval(ticking);
        resolve();
      }
      last = now;
    }, 5);
  });
}

async function shutDown(drainTimeoutMs: number): Promise<{ at: number }> {
  clearInterval(awake);
  process.channel?.unref();
  locks.engine.refuse();
  await locks.engine.drain(drainTimeoutMs);
  await locks.engine.close();
  return { at: monotonicMs() };
}

const commands: Commands = {
  async acquire({ key, abort, ...options }) {
    const controller = new AbortController();
    if (abort !== undefined) aborts.set(abort, controller);
    const lease = await locks.acquire(key, { ...options, signal: controller.signal });
    const number = (leases.push(lease) - 1) as LeaseNumber;
    const { fencingToken } = lease;
    return { lease: number, ownerToken: lease.grant.ownerToken, fencingToken, at: monotonicMs() };
  },
  crowd({ abort, ...plan }) {
    const shared = new AbortController();
    if (abort !== undefined) aborts.set(abort, shared);
    return crowd(locks, plan, shared);
  },
  async abort({ abort }) {
    const controller = aborts.get(abort);
    if (controller !== undefined) abortNow(controller);
  },
  async release({ lease }) {
    await leases[lease].release();
    return { at: monotonicMs() };
  },
  async loss({ lease }) {
    const { signal } = leases[lease];
    // In the listener: the process may stand still before its next turn, when the lock has a new holder.
    const at = signal.aborted
      ? monotonicMs()
      : await new Promise<number>((resolve) => {
          signal.addEventListener('abort', () => resolve(monotonicMs()), { once: true });
        });
    const { reason } = signal;
    return { ...heldAt(leases[lease]), at, reason: isLockError(reason) ? reason.code : String(reason) };
  },
  isHeld: async ({ lease }) => heldAt(leases[lease]),
  async block({ ms, lease }) {
    block(ms);
    return heldAt(leases[lease]);
  },
  async blockAtBegin({ key, ms, ...options }) {
    return locks.acquire(key, options).then(async (lease) => {
      block(ms);
      const held = heldAt(lease);
      await lease.release();
      return held;
    });
  },
  async blockTwice({ keys, beforeMs, ms, ...options }) {
    const acquire = (of: readonly string[]): Promise<Lease> =>
      of.length === 1 ? locks.acquire(of[0], options) : locks.acquireMultiKey(of, options);
    // Now the server knows the script.
    await (await acquire(keys.map((key) => `${key}-before`))).release();
    const begun = acquire(keys).then((lease) => {
      block(ms);
      return { lease, ...heldAt(lease) };
    });
    // The command leaves in this turn.
    await new Promise((resolve) => setImmediate(resolve));
    block(beforeMs);
    const { lease, ...held } = await begun;
    await lease.release();
    return held;
  },
  async blockAndRelease({ ms, lease }) {
    block(ms);
    void leases[lease].release();
  },
  async afterStandstill({ ms, lease }) {
    await afterStandstill(ms);
    return heldAt(leases[lease]);
  },
  acquireMultiKey: async ({ keys, ...options }) => keep(await locks.acquireMultiKey(keys, options)),
  async detach({ lease, ttl }) {
    const from = monotonicMs();
    const ticket = await leases[lease].detach({ ttl });
    return { ticket, from, at: monotonicMs() };
  },
  attach: async ({ ticket, ...options }) => keep(await door.attach(ticket, options)),
  async cancel({ ticket }) {
    const cancelled = await door.cancel(ticket);
    return { cancelled, at: monotonicMs() };
  },
  async standStill({ ms }) {
    // Synchronous, as it is a pipe.
    process.stdout.write('blocked\n');
    block(ms);
  },
  fight: (plan) => fight(locks, plan),
  flood: (plan) => flood(locks, plan),
  loop: (plan) => loop(locks, plan),
  calls: (plan) => calls(locks, plan),
  async usage() {
    meter ??= new Meter();
    return meter.read();
  },
  shutDownOnSigterm: ({ drainTimeoutMs }) =>
    new Promise((resolve) => process.once('SIGTERM', () => void shutDown(drainTimeoutMs).then(resolve))),
  resources: async () => process.getActiveResourcesInfo(),
};

parent.on('call', ({ id, name, args }) => {
  (commands[name] as (given: unknown) => Promise<unknown>)(args).then(
    (result) => parent.send('answer', { id, result, at: monotonicMs() }),
    (error: unknown) => parent.send('answer', { id, error: describe(error), at: monotonicMs() }),
  );
});

function describe(error: unknown): { code: string; reason?: string; message: string } {
  const reason = isLockError(error, 'LEASE_LOST') ? { reason: error.reason } : {};
  return { code: isLockError(error) ? error.code : 'none', ...reason, message: String(error) };
}

await locks.engine.connect();
parent.send('ready', undefined);
