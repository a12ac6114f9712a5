export * from './common.js';

export { CurrentLease } from './nest/decorators/current-lease.decorator.js';
export { DistributeLock } from './nest/decorators/distribute-lock.decorator.js';
export { InjectLockService, lockServiceToken } from './nest/decorators/inject-lock-service.decorator.js';
export { Leader, type LeaderDecoratorOptions } from './nest/decorators/leader.decorator.js';
export type { LockErrorMapper, LockErrorMappers } from './nest/aspect/error-mapping.js';
export type {
  ContentionAnswer,
  DistributeLockOptions,
  InstanceOptions,
  LockContentionInfo,
} from './nest/aspect/lock-spec.js';
export { LockInterceptor } from './nest/aspect/lock.interceptor.js';
export type { KeyFunction, KeysFunction } from './keys/compile-keys.js';
export type {
  LockModuleAsyncOptions,
  LockModuleOptions,
  LockModuleOptionsFactory,
} from './nest/module/lock-module-options.js';
export { LockModule } from './nest/module/lock.module.js';
export { LockService } from './nest/lock.service.js';

// Types that only compute other types, exported so that declarations of users can name them.
export type {
  CheckedOptions,
  DecoratorOptionNames,
  Fitting,
  FittingAnswer,
  FittingInstance,
  FittingOptions,
  FittingKey,
  FittingKeys,
  FittingResult,
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
  SkippedFault,
  ThisOf,
  UnknownName,
} from './nest/decorators/method-types.js';
export type {
  KeyArgumentFault,
  KeyBodyEnd,
  KeyBorderFault,
  KeyBracesFault,
  KeyColonFault,
  KeyEndSeen,
  KeyHoleFault,
  KeyHolesFault,
  KeyPartBorder,
  KeyPathEnd,
  KeyPathFault,
  KeyPathStep,
  KeyRootFault,
  KeyScalar,
  KeyTemplateFault,
  NoKeyBody,
  NoKeyPath,
} from './keys/key-types.js';
