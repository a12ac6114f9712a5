import 'reflect-metadata';

import type { LeaderOptions } from '../../locks/leader.js';

/** Options of `@Leader`. @public */
export interface LeaderDecoratorOptions extends Omit<LeaderOptions, 'onError'> {
  /** The key of the lock, or a function of the instance, for example of its `ConfigService`. */
  // `any` accepts every class.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly key: string | ((instance: any) => string);
  /**
   * The name of the module's connection that holds the lock.
   * @defaultValue the module's `connection`
   */
  readonly connectionName?: string;
}

const LEADERS = 'nestjs-distribute-lock:leaders';

type Leaders = ReadonlyMap<string | symbol, LeaderDecoratorOptions>;

/** Methods of this prototype with `@Leader`, also inherited ones. */
export function leadersOf(prototype: object): Leaders {
  return (Reflect.getMetadata(LEADERS, prototype) as Leaders | undefined) ?? new Map();
}

/** Records a method with `@Leader`. */
export function recordLeader(target: object, name: string | symbol, options: LeaderDecoratorOptions): void {
  Reflect.defineMetadata(LEADERS, new Map(leadersOf(target)).set(name, options), target);
}
