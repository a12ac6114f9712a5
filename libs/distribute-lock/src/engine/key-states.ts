import { kindOfToken, type TokenKind } from '../runtime/owner-token.js';
import type { KeyState } from './key-state.js';

/** From this number on, resting states are removed as soon as they are half of all. */
const MOST_RESTING = 1_000;

/**
 * The states of all keys that this process holds or waits for, by kind and key.
 *
 * The state of an exclusive lock that became idle rests until the next call of its key. Resting states are removed together, by a
 * copy of the others: a `Map` that loses an entry with each call replaces its table again and again, and V8 links each table to the
 * next one. Once the garbage collector has promoted one of them, all later ones and their states survive until a full collection.
 */
export class KeyStates {
  private readonly byKind: Record<TokenKind, Map<string, KeyState>> = {
    exclusive: new Map(),
    read: new Map(),
    semaphore: new Map(),
  };
  private resting = 0;

  get empty(): boolean {
    const states = Object.values(this.byKind).reduce((sum, { size }) => sum + size, 0);
    return states === this.resting;
  }

  find(kind: TokenKind, key: string): KeyState | undefined {
    const state = this.byKind[kind].get(key);
    return state?.resting === true ? undefined : state;
  }

  /** The states of a key, for all kinds. */
  ofKey(key: string): KeyState[] {
    return Object.values(this.byKind).flatMap((states) => states.get(key) ?? []);
  }

  /** The state that the token belongs to. */
  ofToken(key: string, ownerToken: string): KeyState | undefined {
    return this.find(kindOfToken(ownerToken), key);
  }

  /** The state for a new call; `undefined` if the key has none. */
  resume(kind: TokenKind, key: string): KeyState | undefined {
    const state = this.byKind[kind].get(key);
    if (state?.resting === true) {
      state.resting = false;
      this.resting -= 1;
    }
    return state;
  }

  add(state: KeyState): void {
    this.byKind[state.kind].set(state.key, state);
  }

  /** The state has become idle. */
  remove(state: KeyState): void {
    const states = this.byKind[state.kind];
    // The states of other kinds remember more than what makes them idle.
    if (state.kind === 'exclusive') this.rest(state, states.size);
    else if (states.get(state.key) === state) states.delete(state.key);
  }

  /** Every state that is not idle. */
  all(): KeyState[] {
    return Object.values(this.byKind).flatMap((states) => [...states.values()].filter(({ resting }) => !resting));
  }

  private rest(state: KeyState, size: number): void {
    if (state.resting) return;
    state.resting = true;
    this.resting += 1;
    if (this.resting < MOST_RESTING || 2 * this.resting < size) return;
    this.byKind.exclusive = active(this.byKind.exclusive);
    this.resting = 0;
  }
}

function active(states: ReadonlyMap<string, KeyState>): Map<string, KeyState> {
  const others = new Map<string, KeyState>();
  for (const [key, state] of states) if (!state.resting) others.set(key, state);
  return others;
}
