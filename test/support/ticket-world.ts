import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import type { LockEngineSettings } from '../../libs/distribute-lock/src/engine/lock-engine.js';
import { LOCK_DEFAULTS, type ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { LockStoreError } from '../../libs/distribute-lock/src/store/lock-store.js';
import { ManualClock } from './manual-clock.js';
import { type ManualProcess, ManualWorld } from './manual-world.js';

/** The store does not respond. */
export const away = (): Promise<never> => Promise.reject(new LockStoreError('Redis did not respond.', true));
/** The server replies with an error. */
export const refuse = (): Promise<never> => Promise.reject(new LockStoreError('NOPERM', false));
/** The store executes the command, and its reply is lost. */
export const loseReply = async (ask: () => Promise<unknown>): Promise<unknown> => {
  await ask();
  return away();
};

export const attach = (
  process: ManualProcess,
  ticket: string,
  options: Partial<ResolvedLockOptions> = {},
): Promise<Lease> => process.engine.attach(ticket, { options: { ...LOCK_DEFAULTS, ...options }, scoped: false });

/** The lease of several keys. */
export const acquireKeys = ({ engine }: ManualProcess, key: readonly string[]): Promise<Lease> =>
  engine.acquire({ options: LOCK_DEFAULTS, name: 'unit', scoped: false, key });

/** Two processes, of which `here` has these settings. */
export function startProcesses(settings: Partial<LockEngineSettings> = {}) {
  const clock = new ManualClock();
  const world = new ManualWorld(clock);
  return { clock, world, here: world.process({}, 5, settings), there: world.process() };
}
