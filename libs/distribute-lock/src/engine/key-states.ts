import { kindOfToken, type TokenKind } from '../runtime/owner-token.js';
import type { KeyState } from './key-state.js';

/** The states of all keys that this process holds or waits for, by kind and key. */
export class KeyStates {
  private readonly byKind: Readonly<Record<TokenKind, Map<string, KeyState>>>;

  constructor(kinds: readonly TokenKind[]) {
    this.byKind = Object.fromEntries(kinds.map((kind) => [kind, new Map()])) as typeof this.byKind;
  }

  get empty(): boolean {
    return Object.values(this.byKind).every(({ size }) => size === 0);
  }

  find(kind: TokenKind, key: string): KeyState | undefined {
    return this.byKind[kind].get(key);
  }

  /** The state that the token belongs to. */
  ofToken(key: string, ownerToken: string): KeyState | undefined {
    return this.byKind[kindOfToken(ownerToken)].get(key);
  }

  add(state: KeyState): void {
    this.byKind[state.kind].set(state.key, state);
  }

  /** @returns whether the state was registered */
  remove(state: KeyState): boolean {
    const states = this.byKind[state.kind];
    return states.get(state.key) === state && states.delete(state.key);
  }

  all(): KeyState[] {
    const all: KeyState[] = [];
    for (const states of Object.values(this.byKind)) for (const state of states.values()) all.push(state);
    return all;
  }
}
