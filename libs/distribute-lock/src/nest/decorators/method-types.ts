import type { KeyFunction, KeysFunction } from '../../keys/compile-keys.js';
import type { KeyTemplateFault } from '../../keys/key-types.js';
import type { DistributeLockOptions } from '../aspect/lock-spec.js';

/** What a locked method may return. Acquiring a lock is asynchronous, so the result is too. @public */
export type LockableResult = PromiseLike<unknown> | AsyncIterableIterator<unknown> | ObservableLike;

/** An Observable of any copy of rxjs. @public */
export interface ObservableLike {
  subscribe(...observer: never[]): { unsubscribe(): void };
  pipe(...operators: never[]): unknown;
}

/** A method that `@DistributeLock` accepts. @public */
// oxlint-disable-next-line typescript/no-explicit-any
export type LockableMethod = (...args: any[]) => LockableResult;

/**
 * Does not compile if the method is not asynchronous, or if the placeholders of the key or the functions in the options do not fit the
 * method.
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
 * Checks less than the method decorator, because only the import reveals which methods are handlers. The import then checks the key
 * for each of them.
 * @public
 */
export type LockedClassDecorator<Options extends DistributeLockOptions> = <
  Class extends abstract new (...args: never[]) => object,
>(
  target: Class & FittingTemplate<Options, LockableMethod>,
) => void;

/** Applies to methods and to classes. @public */
export type LockedDecorator<Options extends DistributeLockOptions> = LockedMethodDecorator<Options> &
  LockedClassDecorator<Options>;

/** @public */
export type FittingTemplate<Options extends DistributeLockOptions, Method extends LockableMethod> = LockFault<
  KeyTemplateFault<Extract<Options['key'], string> | KeyTemplates<Options>, Parameters<Method>>
>;

/** The templates in `keys`. @public */
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
 * Requires a property that no method has, so that the compiler shows `Complaint`.
 *
 * The condition is written in this direction so that methods of generic classes compile: TypeScript cannot resolve the type parameter
 * of the class at the decorator, and then compares only with the branch that it cannot exclude.
 * @public
 */
export type LockFault<Complaint> = ([Complaint] extends [never] ? 'fits' : 'does not fit') extends 'does not fit'
  ? { readonly 'lock error': Complaint }
  : unknown;

/** A lock needs exactly one of `key` and `keys`. @public */
export type OneKey<Options> = Options extends {
  readonly key: string | KeyFunction;
  readonly keys: readonly string[] | KeysFunction;
}
  ? { readonly keys?: never }
  : [keyof Options & ('key' | 'keys')] extends [never]
    ? { readonly key: string | KeyFunction }
    : unknown;

/** Rejects unknown options at compile time. @public */
export type NoOther<Options> = Record<Exclude<keyof Options, keyof DistributeLockOptions>, never>;
