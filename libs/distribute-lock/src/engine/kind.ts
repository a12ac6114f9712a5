import type { LeaseActions } from './lease/lease-handle.js';
import type { TokenKind } from '../runtime/owner-token.js';
import type { LockKind } from '../store/lock-store.js';
import type { Acquiring } from './acquiring.js';
import type { EngineContext } from './context.js';
import type { KeyState } from './key-state.js';
import type { Releasing } from './releasing.js';

/** Components that the states of all keys use. */
export interface KindServices {
  readonly context: EngineContext;
  readonly acquiring: Acquiring;
  readonly releasing: Releasing;
  readonly leases: LeaseActions;
}

/** A kind of lock. One module defines each kind completely, apart from the commands of the store. */
export interface Kind {
  /** Also the kind of its owner tokens, which {@link KeyState.suffix} encodes. */
  readonly name: TokenKind;
  /** The values of the option `kind` that this kind implements. */
  readonly options: readonly LockKind[];
  /** Kinds of an outer lease of the same call chain that allow a nested call. */
  readonly nestsIn: readonly TokenKind[];
  /** What a process knows of one key: the state holds the rules by which callers are admitted and served. */
  newState(services: KindServices, key: string): KeyState;
}
