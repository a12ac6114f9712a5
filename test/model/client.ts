/**
 * The general client: what a process may do at any time, and what a reply means to it. It repeats attempts and sends
 * commands whenever the contract permits, so messages need no place in a state: a message only causes such a command, and a
 * process that sends it without a message covers messages that are lost, late, duplicated or forged.
 */
import {
  BUSY,
  GRANTED,
  GRANTED_NEXT,
  LOST,
  RENEWED,
} from '../../libs/distribute-lock/src/store/protocol/reply-codes.js';
import type { Config } from './config.js';
import { isSmall } from './invariants.js';
import type { Reply, Rules } from './rules.js';
import { ABANDONED, copyOf, FREE, HOLDING, TRYING, VOID, type Command, type State } from './state.js';

/** Reports a state that one move leads to. */
export type Emit = (next: State, label: () => string, isGood: boolean) => void;

/** The moves that only one kind has. */
export type KindMoves = (rules: Rules, state: State, slot: number, emit: Emit) => void;

const specOf = (config: Config, slot: number) => config.slots[slot % config.slots.length];

/** The slots of the same process, lock and kind of token. */
export function peersOf({ config }: Rules, slot: number): number[] {
  const first = slot - (slot % config.slots.length);
  const spec = specOf(config, slot);
  return config.slots.flatMap(({ lock, isReader }, i) =>
    first + i !== slot && lock === spec.lock && isReader === spec.isReader ? [first + i] : [],
  );
}

/** Puts a command on its way; undefined if it is there already or too many are. */
export function sent(rules: Rules, state: State, op: string, slot: number, next = -1): State | undefined {
  if (state.flight.length >= rules.config.flight) return undefined;
  if (state.flight.some((other) => other.op === op && other.slot === slot && other.next === next && other.age === 0))
    return undefined;
  const copy = copyOf(state);
  copy.flight = [...state.flight, { op, slot, next, age: 0 }];
  return copy;
}

/** The moves of one token. */
export function moveToken(rules: Rules, state: State, slot: number, isFirstFree: boolean, emit: Emit): void {
  const { names } = rules;
  const token = (): string => names.tokens[slot];
  const send = (op: string, phase: number, label: string, next = -1): void => {
    const copy = sent(rules, state, op, slot, next);
    if (copy === undefined) return;
    copy.phases[slot] = phase;
    if (phase === ABANDONED || phase === TRYING) copy.lefts[slot] = 0;
    if (next >= 0 && copy.phases[next] === FREE) copy.phases[next] = TRYING;
    emit(
      copy,
      () => `${processName(rules, slot)} ${label} ${token()}${next >= 0 ? `, next ${names.tokens[next]}` : ''}`,
      false,
    );
  };
  switch (state.phases[slot]) {
    case FREE:
      if (!isFirstFree) return;
      send('w', TRYING, 'begins to wait with');
      send('a', TRYING, 'makes one attempt with');
      return;
    case TRYING:
      send('w', TRYING, 'repeats the attempt of');
      send('d', ABANDONED, 'gives up and undoes');
      return;
    case ABANDONED:
      if (!isDowngrading(rules, state, slot)) send('d', ABANDONED, 'undoes');
      return;
    default:
      if (!isShortening(state, slot)) send('n', state.phases[slot], 'renews');
      shorten(rules, state, slot, emit);
      send('d', ABANDONED, 'releases');
      moveNext(rules, state, slot, send);
  }
}

/** A reader may rely on the lease of its writer until the downgrade is executed, so the writer is not released. */
export function isDowngrading({ config }: Rules, state: State, slot: number): boolean {
  const first = slot - (slot % config.slots.length);
  if (config.slots[slot - first].isReader) return false;
  return config.slots.some(({ isReader }, i) => isReader && state.lefts[first + i] > 0);
}

/** Releases with the next attempt of the same process. */
function moveNext(
  rules: Rules,
  state: State,
  slot: number,
  send: (op: string, phase: number, label: string, next?: number) => void,
): void {
  const peers = peersOf(rules, slot);
  const free = peers.find((peer) => state.phases[peer] === FREE);
  if (free !== undefined) send('r', ABANDONED, 'releases', free);
  let isAny = false;
  for (const peer of peers) {
    if (state.phases[peer] !== TRYING) continue;
    send('r', ABANDONED, 'releases', peer);
    isAny = true;
  }
  if (isAny && rules.config.kind !== 'semaphore') send('r', ABANDONED, 'releases for any of its waiting tokens:', -2);
}

export const processName = (rules: Rules, slot: number): string =>
  `process ${rules.names.processes[rules.names.processOfSlot(slot)].charAt(0)}`;

/** What the reply to a command changes for its process. Changes `state`. */
export function receive(rules: Rules, state: State, command: Command, reply: Reply): void {
  const { config, names } = rules;
  const { op, slot, next, age } = command;
  // A process that attaches a lease sends a command for a token that is not its own.
  const sender = names.isDetached(slot) && next >= 0 ? next : slot;
  if ((state.live & (1 << names.processOfSlot(sender))) === 0) return;
  const [code, x, y] = reply;
  const left = config.ttlMs - age;
  const isUsed = typeof x === 'number' && !isSmall(x, state.now);
  if (op === 'd') return;
  if (op === 't') return moved(rules, state, command, reply);
  if (op === 'n' || op === 'e') {
    if (code === RENEWED && op === 'n') extend(state, slot, left);
    else if (code === LOST) end(state, slot);
    return;
  }
  if (op === 'g') {
    if (code === RENEWED) extend(state, next, left);
    else if (code === LOST) end(state, next);
    return;
  }
  if (op === 'r') {
    if (code !== GRANTED_NEXT) return;
    const granted = config.kind === 'semaphore' ? next : names.tokens.indexOf(String(y));
    if (names.processOfSlot(granted) === names.processOfSlot(slot)) grant(state, granted, left, isUsed);
    return;
  }
  if (code === GRANTED) {
    grant(state, slot, left, isUsed);
    if (op === 'm') grant(state, next, left, isUsed);
  } else if (code === BUSY && op === 'a' && state.phases[slot] === TRYING) state.phases[slot] = ABANDONED;
}

/** The reply to a process that moved a lease: to a ticket, or from a ticket to one of its tokens. */
function moved({ config, names }: Rules, state: State, { slot, next, age }: Command, [code, x]: Reply): void {
  const isUsed = code === GRANTED && !isSmall(Number(x), state.now);
  if (!names.isDetached(next)) {
    if (code === GRANTED) grant(state, next, config.ttlMs - age, isUsed);
    else if (state.phases[next] === TRYING) state.phases[next] = ABANDONED;
    return;
  }
  if (code === LOST || code === GRANTED) end(state, slot);
  // It may have been used or cancelled since, if this reply is to a repeated command.
  if (state.phases[next] !== TRYING) return;
  const left = config.detachedMs - age;
  state.phases[next] = code === GRANTED && left > 0 ? HOLDING : ABANDONED;
  state.lefts[next] = state.phases[next] === HOLDING ? left : 0;
}

function grant(state: State, slot: number, left: number, isUsed: boolean): void {
  if (state.phases[slot] === TRYING) {
    state.phases[slot] = isUsed && left > 0 ? HOLDING : ABANDONED;
    state.lefts[slot] = state.phases[slot] === HOLDING ? left : 0;
  } else if (isUsed) extend(state, slot, left);
}

/** A command that shortens the lease may still be executed, so the process relies on no longer lease. */
const isShortening = (state: State, slot: number): boolean =>
  state.flight.some((command) => (command.op === 'e' || command.op === 't') && command.slot === slot);

/** Renews for one millisecond, exactly. */
function shorten(rules: Rules, state: State, slot: number, emit: Emit): void {
  const copy = sent(rules, state, 'e', slot);
  if (copy === undefined) return;
  copy.lefts[slot] = 1;
  emit(copy, () => `${processName(rules, slot)} shortens the lease of ${rules.names.tokens[slot]}`, false);
}

function extend(state: State, slot: number, left: number): void {
  if (isShortening(state, slot)) return;
  if (state.phases[slot] === HOLDING || state.phases[slot] === VOID)
    state.lefts[slot] = Math.max(state.lefts[slot], left);
}

function end(state: State, slot: number): void {
  if (state.phases[slot] !== HOLDING && state.phases[slot] !== VOID) return;
  state.phases[slot] = ABANDONED;
  state.lefts[slot] = 0;
}

/** The lease of each holder of the lock may have been lost without its notice. */
export function voidHolders({ config }: Rules, state: State, lock: number, except = -1): void {
  for (let slot = 0; slot < state.phases.length; slot += 1) {
    if (slot !== except && state.phases[slot] === HOLDING && specOf(config, slot).lock === lock)
      state.phases[slot] = VOID;
  }
}
