import type { KeyFunction, KeysFunction } from '../../keys/compile-keys.js';
import type { KeyTemplateFault } from '../../keys/key-types.js';
import type { DistributeLockOptions } from '../aspect/lock-spec.js';

/** What a locked method may return: a lock is waited for, so its result comes later. @public */
export type LockableResult = PromiseLike<unknown> | AsyncIterableIterator<unknown> | ObservableLike;

/** An Observable of any copy of rxjs. @public */
export interface ObservableLike {
  subscribe(...observer: never[]): { unsubscribe(): void };
  pipe(...operators: never[]): unknown;
}

/** A method that `@DistributeLock` can stand on. @public */
// oxlint-disable-next-line typescript/no-explicit-any
export type LockableMethod = (...args: any[]) => LockableResult;

/**
 * Fails to compile on methods that are not async, and where the holes of the key or the functions in the options do not
 * fit the method.
 * @public
 */
export type LockedMethodDecorator<Options extends DistributeLockOptions> = <Method extends LockableMethod>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method> &
    FittingTemplate<Options, Method> &
    FittingKey<Options, Method> &
    FittingKeys<Options, Method> &
    FittingAnswer<Options, Method>,
) => void;

/**
 * On a class less can be said: which of its methods are handlers is seen at import only. There the key is checked again,
 * with each of them.
 * @public
 */
export type LockedClassDecorator<Options extends DistributeLockOptions> = <
  Class extends abstract new (...args: never[]) => object,
>(
  target: Class & FittingTemplate<Options, LockableMethod>,
) => void;

/** Stands on methods and on classes. @public */
export type LockedDecorator<Options extends DistributeLockOptions> = LockedMethodDecorator<Options> &
  LockedClassDecorator<Options>;

/** @public */
export type FittingTemplate<Options extends DistributeLockOptions, Method extends LockableMethod> = LockFault<
  KeyTemplateFault<Extract<Options['key'], string> | KeyTemplates<Options>, Parameters<Method>>
>;

/** The templates of several keys. @public */
export type KeyTemplates<Options> = Options extends { readonly keys: readonly (infer Text)[] }
  ? Extract<Text, string>
  : never;

/** @public */
export type FittingKeys<Options, Method extends LockableMethod> = Options extends {
  readonly keys: (...args: infer Wanted) => readonly string[];
}
  ? Fitting<Wanted, Parameters<Method>, 'the keys function takes other arguments than the method'>
  : unknown;

/** @public */
export type FittingKey<Options, Method extends LockableMethod> = Options extends {
  readonly key: (...args: infer Wanted) => string;
}
  ? Fitting<Wanted, Parameters<Method>, 'the key function takes other arguments than the method'>
  : unknown;

/** @public */
export type FittingAnswer<Options, Method extends LockableMethod> = Options extends {
  readonly onContended: (info: never, ...args: infer Wanted) => unknown;
}
  ? Fitting<Wanted, Parameters<Method>, 'onContended takes other arguments than the method'>
  : unknown;

/** A function that takes `Wanted` can be called with `Given`. @public */
export type Fitting<Wanted extends readonly unknown[], Given extends readonly unknown[], Complaint> = LockFault<
  ((...args: Wanted) => void) extends (...args: Given) => void ? never : Complaint
>;

/**
 * Demands what no method has, so that the compiler shows `Complaint`.
 *
 * Asked this way round, it also lets a method of a generic class pass: what depends on the class's type parameter is not
 * known where the decorator stands, and TypeScript then compares only with the branch that it cannot rule out.
 * @public
 */
export type LockFault<Complaint> = ([Complaint] extends [never] ? 'fits' : 'does not fit') extends 'does not fit'
  ? { readonly 'lock error': Complaint }
  : unknown;

/** A lock needs `key` or `keys`, and not both. @public */
export type OneKey<Options> = Options extends {
  readonly key: string | KeyFunction;
  readonly keys: readonly string[] | KeysFunction;
}
  ? { readonly keys?: never }
  : [keyof Options & ('key' | 'keys')] extends [never]
    ? { readonly key: string | KeyFunction }
    : unknown;

/** Options that are not known are refused here, too, where they are most often mistyped. @public */
export type NoOther<Options> = Record<Exclude<keyof Options, keyof DistributeLockOptions>, never>;
