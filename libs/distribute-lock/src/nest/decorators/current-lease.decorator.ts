import { LockConfigurationError } from '../../errors.js';
import { recordLeaseParameter } from '../aspect/lock-metadata.js';

/**
 * Hands the lease to the method that `@DistributeLock` stands on, be it a handler or any other provider method. Whoever
 * calls the method by hand leaves the argument out. With several locks it is the innermost lease.
 *
 * @example
 * ```ts
 * @DistributeLock({ key: 'stock:#{arg0}' })
 * async reserve(sku: string, @CurrentLease() lease?: Lease) {
 *   await this.stock.write(sku, lease!.fencingToken);
 * }
 * ```
 * @public
 */
export function CurrentLease(): ParameterDecorator {
  return (target, name, index) => {
    if (name === undefined || typeof target === 'function') {
      throw new LockConfigurationError('@CurrentLease() belongs to a parameter of a method that is not static.');
    }
    recordLeaseParameter(target, name, index);
  };
}
