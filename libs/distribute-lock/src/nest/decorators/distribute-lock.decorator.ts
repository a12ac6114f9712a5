import { LockConfigurationError } from '../../errors.js';
import type { DistributeLockOptions } from '../aspect/lock-spec.js';
import { lockClass } from './lock-class.js';
import { lockMethod } from './lock-method.js';
import type { LockedDecorator, NoOther, OneKey } from './method-types.js';

/**
 * Runs the method only while this process holds the lock named by `key`. It never runs unlocked: when the lock cannot be
 * had, the call ends as `onContended` says or with a `LockError`.
 *
 * On a class it covers every handler: each method, inherited ones too, that a route, message, event, subscription or resolver
 * leads to. Locks that a handler has of its own are taken inside.
 *
 * Put it **above** `@Transactional` and its like, so that the lock is given back after the commit. Several locks on one
 * method are taken from top to bottom and given back in reverse.
 *
 * The lock excludes others only while its lease is held; a process that was stopped may find out late. What must never
 * be written twice should check `lease.fencingToken`.
 *
 * @throws LockConfigurationError at import, naming class and method, when key or options can never work
 *
 * @example
 * ```ts
 * @Post('post-test')
 * @DistributeLock({ key: 'post_test_#{body.channel}', ttl: '10s' })
 * async postTest(@Body() body: PostTestDto) {}
 *
 * @DistributeLock({ key: (invoice: Invoice) => `invoice:${invoice.id}`, wait: '5s' })
 * async settle(invoice: Invoice) {}
 * ```
 * @public
 */
export function DistributeLock<const Options extends DistributeLockOptions>(
  options: Options & NoOther<Options> & OneKey<Options>,
): LockedDecorator<Options> {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor) => {
    if (typeof target === 'function' && name === undefined) return lockClass(target, options);
    checkMethod(target, name!, descriptor);
    lockMethod(target, name!, descriptor, options);
  };
}

function checkMethod(
  target: object,
  name: string | symbol,
  descriptor: PropertyDescriptor | undefined,
): asserts descriptor is PropertyDescriptor {
  if (typeof target === 'function') {
    throw new LockConfigurationError(`@DistributeLock cannot stand on a static method: ${target.name}.${String(name)}`);
  }
  if (typeof descriptor?.value === 'function') return;
  throw new LockConfigurationError(
    `@DistributeLock needs a method, but ${target.constructor.name}.${String(name)} is none (an accessor or a property).`,
  );
}
