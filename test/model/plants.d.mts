import type { Kind } from './config.js';
import type { Change } from '../support/load-rules.js';

/** A planted change of the rules. */
export interface Plant extends Change {
  readonly kind: Kind;
  readonly name: string;
  /** What the rules no longer do. */
  readonly what: string;
  /** The invariant that the search finds broken. */
  readonly invariant: string;
}

export const PLANTS: readonly Plant[];
