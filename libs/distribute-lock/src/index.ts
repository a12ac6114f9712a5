export { CurrentLease } from './decorators/current-lease.decorator.js';
export { DistributeLock } from './decorators/distribute-lock.decorator.js';
export { InjectLockService, lockServiceToken } from './decorators/inject-lock-service.decorator.js';
export type {
  Fitting,
  FittingAnswer,
  FittingKey,
  FittingKeys,
  FittingTemplate,
  KeyTemplates,
  LockableMethod,
  LockableResult,
  LockedClassDecorator,
  LockedDecorator,
  LockedMethodDecorator,
  LockFault,
  NoOther,
  ObservableLike,
  OneKey,
} from './decorators/method-types.js';

export { type AnyLockError, isLockError, type LockErrorOfCode } from './errors/is-lock-error.js';
export { type LeaseLossReason, LeaseLostError, type LeaseLostErrorDetails } from './errors/lease-lost.error.js';
export { LockAbortedError } from './errors/lock-aborted.error.js';
export { LockConfigurationError } from './errors/lock-configuration.error.js';
export { LockContendedError, type LockContendedErrorDetails } from './errors/lock-contended.error.js';
export { LockKeyError, type LockKeyErrorDetails } from './errors/lock-key.error.js';
export { LockShutdownError } from './errors/lock-shutdown.error.js';
export {
  LockUnavailableError,
  type LockUnavailableErrorDetails,
  type LockVotes,
} from './errors/lock-unavailable.error.js';
export { LockUsageError } from './errors/lock-usage.error.js';
export { LockWaitTimeoutError, type LockWaitTimeoutErrorDetails } from './errors/lock-wait-timeout.error.js';
export { LockError, type LockErrorCode, type LockErrorDetails } from './errors/lock.error.js';

export { type LockEvent, type LockEventListener, LockEvents, type LockEventType } from './events/lock-events.js';

export type { LockErrorMapper, LockErrorMappers } from './interception/error-mapping.js';
export type { ContentionAnswer, DistributeLockOptions, LockContentionInfo } from './interception/lock-spec.js';
export { LockInterceptor } from './interception/lock.interceptor.js';

export type { KeyFunction } from './keys/compile-key.js';
export { encodeKeyPart } from './keys/encode-key.js';
export { type KeyPart, lockKey } from './keys/lock-key.js';
export type { KeysFunction } from './keys/compile-keys.js';
export type {
  KeyArgumentFault,
  KeyBodyEnd,
  KeyBorderFault,
  KeyEndSeen,
  KeyHoleFault,
  KeyHolesFault,
  KeyPathEnd,
  KeyPathFault,
  KeyPathStep,
  KeyRootFault,
  KeyScalar,
  KeyTemplateFault,
  NoKeyBody,
  NoKeyPath,
} from './keys/key-types.js';

export type { Lease } from './lease/lease.js';
export type { LockHolderInfo, LockInspection } from './lease/lock-inspection.js';

export type {
  ClusterConnectionOptions,
  Durability,
  LockConnection,
  LockModuleAsyncOptions,
  LockModuleOptions,
  LockModuleOptionsFactory,
  LockQuorumNode,
  MaxWaiters,
} from './module/lock-module-options.js';
export { LockModule } from './module/lock.module.js';

export type { AcquireOptions, LockOptions } from './options/lock-options.js';
export type { Duration } from './options/values.js';
export type { RetryAfter, RetryAfterInfo } from './options/retry-after.js';

export { type LockedWork, LockService } from './service/lock.service.js';

export type { LockState } from './store/lock-state.js';
export type { AcquireAllAnswer } from './store/acquire-all-answer.js';
export {
  type AcquireAnswer,
  type AcquireRequest,
  type DowngradeRequest,
  type LockKind,
  type LockMessage,
  type LockName,
  type LockStore,
  LockStoreError,
  type LockStoreErrorOptions,
  type LockStoreListener,
  type ReleaseAnswer,
  type ReleaseRequest,
  type RenewAnswer,
  type RenewRequest,
} from './store/lock-store.js';
export { MemoryLockStore } from './store/memory/memory-lock-store.js';
export type { RedisClient } from './store/redis/redis-client.js';
