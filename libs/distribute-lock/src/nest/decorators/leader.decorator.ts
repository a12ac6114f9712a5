import { LockConfigurationError } from '../../errors.js';
import type { LeaderWork } from '../../locks/leader.js';
import { type LeaderDecoratorOptions, recordLeader } from '../aspect/leader-metadata.js';

export type { LeaderDecoratorOptions };

/**
 * Calls the method in one instance of the application at a time, from the start of the application until its shutdown. The method
 * gets the term, and ends when `term.signal` aborts. It stands again after a pause when it returns or fails; an error is logged.
 *
 * @example
 * ```ts
 * @Leader({ key: 'price-feed' })
 * async lead({ signal, fencingToken }: LeaderTerm): Promise<void> {
 *   for await (const price of this.feed.read({ signal })) await this.prices.write(price, fencingToken);
 * }
 * ```
 * @throws LockConfigurationError at the start, when Nest creates the class for each request, or key or options are invalid
 * @public
 */
export function Leader(
  options: LeaderDecoratorOptions,
): <Work extends LeaderWork>(target: object, name: string | symbol, descriptor: TypedPropertyDescriptor<Work>) => void {
  return (target, name) => {
    if (typeof target === 'function')
      throw new LockConfigurationError(`@Leader on ${target.name}.${String(name)} cannot lead, because it is static.`);
    recordLeader(target, name, options);
  };
}
