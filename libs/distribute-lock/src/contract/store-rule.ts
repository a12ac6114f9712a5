import type { LockStore } from '../store/lock-store.js';
import type { Trial } from './trial.js';

/**
 * What a {@link StoreRule} is about. `'exclusive'` applies to every store, the others to stores that have the part:
 * - `'renewOne'`, `'acquireAll'`, `'inspect'`, `'force'`, `'hints'`, `'tickets'`: the member of that name
 * - `'steal'`: the member `revoked`
 * - `'read'`, `'semaphore'`: the kind is in `kinds`
 * - `'order'`: `ordered` is not `false`
 * - `'messages'`: `subscribe` resolves with `true`
 * @public
 */
export type StoreFeature =
  | 'acquireAll'
  | 'exclusive'
  | 'force'
  | 'hints'
  | 'inspect'
  | 'messages'
  | 'order'
  | 'read'
  | 'renewOne'
  | 'semaphore'
  | 'steal'
  | 'tickets';

/** One rule of the contract between the lock engine and a store. @public */
export interface StoreRule {
  /** A sentence about the store, unique in the contract. */
  readonly name: string;
  /** The part of the store that the rule is about. */
  readonly feature: StoreFeature;
  /** Tests the rule. Resolves with `false` if the store lacks the feature; rejects if the store breaks the rule. */
  readonly run: () => Promise<boolean>;
}

/** A rule before it is bound to a store. */
export interface RuleText {
  readonly name: string;
  readonly feature: StoreFeature;
  readonly test: (trial: Trial) => Promise<void>;
}

/** A rule of every store. */
export const rule = (
  name: string,
  test: (trial: Trial) => Promise<void>,
  feature: StoreFeature = 'exclusive',
): RuleText => ({ name, feature, test });

/** Whether the store has the feature. */
export function hasFeature(feature: StoreFeature, store: LockStore, sendsMessages: boolean): boolean {
  switch (feature) {
    case 'exclusive':
      return true;
    case 'read':
    case 'semaphore':
      return store.kinds?.has(feature) === true;
    case 'order':
      return store.ordered !== false;
    case 'messages':
      return sendsMessages;
    case 'steal':
      return store.revoked !== undefined;
    default:
      return store[feature] !== undefined;
  }
}
