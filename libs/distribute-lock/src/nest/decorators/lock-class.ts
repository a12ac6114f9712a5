import { LockConfigurationError } from '../../errors.js';
import { handlersOf } from '../aspect/handlers.js';
import { leaseParametersOf, recordLeaseParameter } from '../aspect/lock-metadata.js';
import type { DistributeLockOptions } from '../aspect/lock-spec.js';
import { lockMethod } from './lock-method.js';

/**
 * Locks every handler of the class, inherited ones too, outside of the locks that a handler has of its own. A handler that is
 * inherited is locked in this class only; its base class stays as it is.
 * @throws LockConfigurationError when there is no handler, or naming the one on which the lock can never work
 */
export function lockClass(
  type: { readonly name: string; readonly prototype: object },
  options: DistributeLockOptions,
): void {
  const { prototype } = type;
  const handlers = handlersOf(prototype);
  if (handlers.length === 0) {
    throw new LockConfigurationError(
      `@DistributeLock on the class ${type.name} finds no handler in it (route, message, event, subscription or resolver). ` +
        'Put it on the methods that need the lock.',
    );
  }
  for (const { name, owner, descriptor, facts } of handlers) {
    if (owner !== prototype) {
      for (const index of leaseParametersOf(owner).get(name) ?? []) recordLeaseParameter(prototype, name, index);
    }
    lockMethod(prototype, name, descriptor, options, facts);
    Object.defineProperty(prototype, name, descriptor);
  }
}
