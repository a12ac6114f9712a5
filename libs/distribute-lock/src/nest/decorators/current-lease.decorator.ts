import { LockConfigurationError } from '../../errors.js';
import { recordLeaseParameter } from '../aspect/lock-metadata.js';

/**
 * Injects the lease into a parameter of a method with `@DistributeLock`, in handlers and in all other provider methods. In a method
 * that only Nest calls, declare `lease: Lease`. Code that calls a method omits the argument, so its parameter is `lease?: Lease`;
 * `currentLease()` needs no parameter. With several locks on one method it is the innermost lease.
 *
 * @example
 * ```ts
 * @Post(':sku')
 * @DistributeLock({ key: 'stock:#{params.sku}' })
 * async reserve(@Param('sku') sku: string, @CurrentLease() lease: Lease) {
 *   await this.stock.write(sku, lease.fencingToken);
 * }
 * ```
 * @public
 */
export function CurrentLease(): ParameterDecorator {
  return (target, name, index) => {
    if (name === undefined || typeof target === 'function') {
      throw new LockConfigurationError('@CurrentLease() must be applied to a parameter of a non-static method.');
    }
    recordLeaseParameter(target, name, index);
  };
}
