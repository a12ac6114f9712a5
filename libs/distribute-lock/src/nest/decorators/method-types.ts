import type { KeyFunction, KeysFunction } from '../../keys/compile-keys.js';
import type { KeyTemplateFault } from '../../keys/key-types.js';
import type { LockOptionNames, LockOptions } from '../../options/generated/lock-options.js';
import type { DistributeLockOptions } from '../aspect/lock-spec.js';

/** What a locked method may return. Acquiring a lock is asynchronous, so the result is too. @public */
export type LockableResult = PromiseLike<unknown> | AsyncIterableIterator<unknown> | ObservableLike;

/** An Observable of any copy of rxjs. @public */
export interface ObservableLike {
  subscribe(...observer: never[]): { unsubscribe(): void };
  pipe(...operators: never[]): unknown;
}

/** Any method. @public */
// oxlint-disable-next-line typescript/no-explicit-any
export type LockableMethod = (...args: any[]) => unknown;

/**
 * Does not compile if the method is not asynchronous, or if the placeholders of the key or the functions in the options do not fit the
 * method.
 * @public
 */
export type LockedMethodDecorator<Options extends DistributeLockOptions> = <
  Method extends LockableMethod,
  Instance extends object,
>(
  target: Instance & FittingInstance<Options, Instance>,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method> &
    FittingResult<Options, Method> &
    FittingTemplate<Options, Method> &
    FittingKey<Options, Method> &
    FittingKeys<Options, Method> &
    FittingAnswer<Options, Method> &
    FittingOptions<Options, Method>,
) => void;

/**
 * Checks less than the method decorator, because only the import reveals which methods are handlers. The import then checks the key
 * for each of them.
 * @public
 */
export type LockedClassDecorator<Options extends DistributeLockOptions> = <
  Class extends abstract new (...args: never[]) => object,
>(
  target: Class & FittingTemplate<Options, LockableMethod> & FittingInstance<Options, InstanceType<Class>>,
) => void;

/** Applies to methods and to classes. @public */
export type LockedDecorator<Options extends DistributeLockOptions> = LockedMethodDecorator<Options> &
  LockedClassDecorator<Options>;

/** Requires an asynchronous result, and one that may be `undefined` if calls may be skipped. @public */
export type FittingResult<Options extends DistributeLockOptions, Method extends LockableMethod> = LockFault<
  [ReturnType<Method>] extends [LockableResult]
    ? | (Options extends { readonly onContended: 'skip' } ? SkippedFault<ReturnType<Method>> : never)
      | (Options extends { readonly result: infer Form }
          ? [ReturnType<Method>] extends [Form extends 'observable' ? ObservableLike : AsyncIterableIterator<unknown>]
            ? never
            : 'option result names another form than the method returns'
          : never)
    : 'a lock is asynchronous: make the method async, or return a promise, an Observable or an async generator'
>;

/** A skipped Observable or generator has no values; a promise resolves with `undefined`. @public */
export type SkippedFault<Result> = [Result] extends [PromiseLike<infer Value>]
  ? [undefined] extends [Value]
    ? never
    : 'a skipped call resolves with undefined: make the result Promise<... | undefined> or Promise<void>'
  : never;

/** The key templates of the options fit the parameters of the method. @public */
export type FittingTemplate<Options extends DistributeLockOptions, Method extends LockableMethod> = LockFault<
  KeyTemplateFault<Extract<Options['key'], string> | KeyTemplates<Options>, Parameters<Method>>
>;

/** The templates in `keys`. @public */
export type KeyTemplates<Options> = Options extends { readonly keys: readonly (infer Text)[] }
  ? Extract<Text, string>
  : never;

/** The function `keys` takes the arguments of the method. @public */
export type FittingKeys<Options, Method extends LockableMethod> = Options extends {
  readonly keys: (...args: infer Wanted) => readonly string[];
}
  ? Fitting<Wanted, Parameters<Method>, 'the keys function takes other arguments than the method'>
  : unknown;

/** The function `key` takes the arguments of the method. @public */
export type FittingKey<Options, Method extends LockableMethod> = Options extends {
  readonly key: (...args: infer Wanted) => string;
}
  ? Fitting<Wanted, Parameters<Method>, 'the key function takes other arguments than the method'>
  : unknown;

/** The function `onContended` takes the arguments of the method. @public */
export type FittingAnswer<Options, Method extends LockableMethod> = Options extends {
  readonly onContended: (info: never, ...args: infer Wanted) => unknown;
}
  ? Fitting<Wanted, Parameters<Method>, 'onContended takes other arguments than the method'>
  : unknown;

/** The function `options` takes the arguments of the method after the instance. @public */
export type FittingOptions<Options, Method extends LockableMethod> = Options extends {
  readonly options: (instance: never, ...args: infer Wanted) => unknown;
}
  ? Fitting<Wanted, Parameters<Method>, 'the options function takes other arguments than the method'>
  : unknown;

/** Compares `this` of the functions, and the parameter of `options`, with the class of the method. @public */
export type FittingInstance<Options extends DistributeLockOptions, Instance> = LockFault<
  | ([Instance] extends [ThisOf<Options, 'key'> & ThisOf<Options, 'keys'> & ThisOf<Options, 'onContended'>]
      ? never
      : 'a function of the options declares another this than the class of the method')
  | (Options extends { readonly options: (instance: infer Wanted, ...args: never[]) => LockOptions }
      ? [Instance] extends [Wanted]
        ? never
        : 'the options function takes another class than that of the method'
      : never)
>;

/** The `this` that a function of the options declares. @public */
export type ThisOf<Options, Name extends string> = Options extends {
  readonly [Given in Name]: (this: infer This, ...args: never[]) => unknown;
}
  ? This
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

/** Rejects unknown options at compile time. Without one it is not `{}`, which would accept a string as the options. @public */
export type NoOther<Options> = [UnknownName<Options>] extends [never]
  ? unknown
  : {
      readonly [Name in UnknownName<Options>]: {
        readonly 'lock error': `${Name} is not an option of @DistributeLock. The options are ${DecoratorOptionNames}, ${LockOptionNames}`;
      };
    };

/** Names in the options that are no option of the decorator. @public */
export type UnknownName<Options> = Exclude<keyof Options & string, keyof DistributeLockOptions>;

/** The options of the decorator that `LockService` does not have. @public */
export type DecoratorOptionNames =
  'key, keys, preset, options, once, connectionName, onContended, contendedStatus, abortOnDisconnect, result';

/** Options of the decorator, with messages for wrong ones. The last part lets editors show the documentation of each option. @public */
export type CheckedOptions<Options> = NoOther<Options> & OneKey<Options> & DistributeLockOptions;
