// What programs with Nest and without Nest import.
export {
  type AnyLockError,
  isLockError,
  type LeaseLossReason,
  LeaseLostError,
  type LeaseLostErrorDetails,
  LockAbortedError,
  LockConfigurationError,
  LockContendedError,
  type LockContendedErrorDetails,
  LockError,
  type LockErrorCode,
  type LockErrorDetails,
  type LockErrorOfCode,
  LockKeyError,
  type LockKeyErrorDetails,
  LockShutdownError,
  LockUnavailableError,
  type LockUnavailableErrorDetails,
  LockUsageError,
  type LockVotes,
  LockWaitTimeoutError,
  type LockWaitTimeoutErrorDetails,
} from './errors.js';
export {
  type LockAcquireMessage,
  lockChannels,
  type LockHandOver,
  type LockHoldMessage,
  type LockStateMessage,
} from './channels.js';
export { Leadership, type LeaderOptions, type LeaderTerm, type LeaderWork } from './locks/leader.js';
export { lastTick, type Schedule, type ScheduledJob, type ScheduleInstant, type Tick } from './locks/schedule.js';
export type { OnceAtOptions } from './locks/tick.js';
export { type LockEvent, type LockEventListener, LockEvents, type LockEventType } from './events.js';
export { encodeKeyPart } from './keys/encode-key.js';
export { type KeyPart, lockKey } from './keys/lock-key.js';
export { currentLease, outsideLocks } from './engine/lease/held-leases.js';
export { type DetachOptions, Lease } from './engine/lease/lease.js';
export type { LockHolderInfo, LockHoldInfo, LockInspection } from './engine/lock-inspection.js';
export type {
  ClusterConnectionOptions,
  Durability,
  LockCredentialsProvider,
  LockConnection,
  LockQuorumNode,
  LocksOptions,
  MaxWaiters,
} from './locks/locks-options.js';
export type {
  NodeRedisClient,
  NodeRedisClusterOptions,
  NodeRedisOptions,
  NodeRedisSocket,
} from './locks/node-redis.js';
export type { LockOptionNames } from './options/generated/lock-options.js';
export type { AcquireOptions, LockOptions } from './options/lock-options.js';
export type { LockPresetName, LockPresets } from './options/presets.js';
export { type Duration, duration, type DurationUnit } from './options/values.js';
export type { RetryAfter, RetryAfterInfo } from './options/retry-after.js';
export { type AttachOptions, type LockedWork, Locks, type StealOptions } from './locks/locks.js';
export type { LockCredentials } from './store/redis/credentials.js';
export type { LockLayout } from './store/redis/layout.js';
export {
  type AcquireAllAnswer,
  type AcquireAnswer,
  type AcquireRequest,
  type ConnectionListener,
  type DowngradeRequest,
  type LeaseTickets,
  type LockHints,
  type LockKind,
  type LockMessage,
  type LockName,
  type LockInquiry,
  type LockStore,
  type LockState,
  LockStoreError,
  type LockStoreErrorOptions,
  type LockStoreListener,
  type MoveAnswer,
  type MoveRequest,
  type ReleaseAnswer,
  type ReleaseRequest,
  type RenewAnswer,
  type RenewRequest,
  type TicketFate,
  type TicketRecord,
} from './store/lock-store.js';
export { MemoryLockStore } from './store/memory/memory-lock-store.js';
export type { RedisClient } from './store/redis/redis-client.js';
