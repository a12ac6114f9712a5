import type { DistributeLockOptions } from '../interception/lock-spec.js';

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

/** Fails to compile on methods that are not async, and where functions in the options do not fit the method. @public */
export type LockedMethodDecorator<Options extends DistributeLockOptions> = <Method extends LockableMethod>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method> & FittingKey<Options, Method> & FittingAnswer<Options, Method>,
) => void;

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
export type Fitting<Wanted extends readonly unknown[], Given extends readonly unknown[], Complaint> = ((
  ...args: Wanted
) => void) extends (...args: Given) => void
  ? unknown
  : { readonly 'lock error': Complaint };

/** Options that are not known are refused here, too, where they are most often mistyped. @public */
export type NoOther<Options> = Record<Exclude<keyof Options, keyof DistributeLockOptions>, never>;
