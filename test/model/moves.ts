/** All moves from one state: of the network, of the processes, of the server and of time. */
import { moveReadWrite } from './client-read-write.js';
import { moveMultiKey } from './client-multi-key.js';
import { moveHolder, moveTicket, useTicket } from './client-ticket.js';
import { isDowngrading, moveToken, peersOf, receive, voidHolders, type Emit, type KindMoves } from './client.js';
import type { Kind } from './config.js';
import { GRANTED, GRANTED_NEXT, TOO_LATE } from '../../libs/distribute-lock/src/store/protocol/reply-codes.js';
import { brokenByCommand, isSmall } from './invariants.js';
import type { Reply, Rules } from './rules.js';
import { ABANDONED, copyOf, FREE, HOLDING, TRYING, VOID, type Command, type State } from './state.js';

/** Thrown by a move that breaks an invariant. */
export class Broken extends Error {
  constructor(
    readonly invariant: string,
    readonly label: string,
  ) {
    super(invariant);
  }
}

const NO_MOVES: KindMoves = () => undefined;

const MOVES: Readonly<Record<Kind, KindMoves>> = {
  exclusive: NO_MOVES,
  'read-write': moveReadWrite,
  semaphore: NO_MOVES,
  'multi-key': moveMultiKey,
};

/**
 * Emits each state that one move leads to.
 * @param onlyGood - only moves in which nothing fails and no other caller begins or renews
 */
export function movesFrom(rules: Rules, state: State, onlyGood: boolean, emit: Emit): void {
  state.flight.forEach((command, i) => moveCommand(rules, state, command, i, onlyGood, emit));
  for (let slot = 0; slot < state.phases.length; slot += 1) {
    if (rules.names.isDetached(slot)) {
      if (!onlyGood) moveTicket(rules, state, slot, emit);
      continue;
    }
    if ((state.live & (1 << rules.names.processOfSlot(slot))) === 0) continue;
    if (state.phases[slot] === TRYING) attempt(rules, state, slot, emit);
    if (state.phases[slot] === ABANDONED) undo(rules, state, slot, emit);
    if (onlyGood) continue;
    moveToken(rules, state, slot, isFirstFree(rules, state, slot), emit);
    MOVES[rules.config.kind](rules, state, slot, emit);
    moveHolder(rules, state, slot, emit);
  }
  if (!onlyGood) {
    moveProcesses(rules, state, emit);
    lose(rules, state, emit);
    emit(later(rules, state), () => 'time passes', false);
  }
  const { next, label } = heartbeat(rules, state);
  emit(next, label, true);
}

/** While time passes, each waiter that runs repeats its attempt, as it must within a claim window. */
function heartbeat(rules: Rules, state: State): { next: State; label: () => string } {
  let next = later(rules, state);
  const labels: (() => string)[] = [];
  const label = (): string =>
    ['time passes, and each waiter repeats its attempt', ...labels.map((each) => each())].join('; ');
  try {
    for (let slot = 0; slot < next.phases.length; slot += 1) {
      if (next.phases[slot] !== TRYING || (next.live & (1 << rules.names.processOfSlot(slot))) === 0) continue;
      attempt(rules, next, slot, (after, attempted) => {
        next = after;
        labels.push(attempted);
      });
    }
  } catch (error) {
    if (error instanceof Broken) throw new Broken(error.invariant, `${label()}; ${error.label}`);
    throw error;
  }
  return { next, label };
}

/** Free slots of one kind are equal; a process uses two at a time. */
function isFirstFree(rules: Rules, state: State, slot: number): boolean {
  const first = slot - (slot % rules.config.slots.length);
  const used = rules.config.slots.filter((_, i) => state.phases[first + i] !== FREE).length;
  return used < 2 && !peersOf(rules, slot).some((peer) => peer < slot && state.phases[peer] === FREE);
}

/** Executes a command and checks what it may change. */
function executed(rules: Rules, state: State, command: Command): { after: State; reply: Reply; label: () => string } {
  const after = copyOf(state);
  let reply: Reply;
  try {
    reply = rules.execute(after, command);
  } catch (error) {
    throw new Broken(`the rules do not fail: ${String(error)}`, `the server executes "${rules.textOf(command, 0)}"`);
  }
  const messages = rules.messages;
  const label = (): string =>
    `the server executes "${rules.textOf({ ...command, age: 0 }, 0).replace(/ 1 \d+/, '')}"${
      command.age > 0 ? ` ${command.age} ms after it was sent` : ''
    }: ${replyText(reply)}${messages.map((text) => `; message "${text}"`).join('')}`;
  const broken = brokenByCommand(rules, state, after, command, reply);
  if (broken !== undefined) throw new Broken(broken, label());
  if ((reply[0] === GRANTED || reply[0] === GRANTED_NEXT) && !isSmall(Number(reply[1]), state.now)) {
    after.largest = Math.max(state.largest, Number(reply[1]) + (command.op === 'm' ? 1 : 0));
  }
  if (command.op === 't' && reply[0] === GRANTED && rules.names.isDetached(command.slot))
    useTicket(after, command.slot);
  if (command.op === 's' && reply[0] !== TOO_LATE) voidHolders(rules, after, 0, command.slot);
  return { after, reply, label };
}

const replyText = (reply: Reply): string => `reply ${reply.join(' ')}`;

/** A command is lost, or executed; then its reply may be lost, and the command may be executed again later. */
function moveCommand(rules: Rules, state: State, command: Command, i: number, onlyGood: boolean, emit: Emit): void {
  const rest = state.flight.filter((_, j) => j !== i);
  if (!onlyGood) {
    const lost = copyOf(state);
    lost.flight = rest;
    emit(lost, () => `"${rules.textOf({ ...command, age: 0 }, 0)}" is lost`, false);
  }
  const { after, reply, label } = executed(rules, state, command);
  const received = copyOf(after);
  received.flight = rest;
  receive(rules, received, command, reply);
  emit(received, label, true);
  if (onlyGood) return;
  after.flight = rest;
  emit(after, () => `${label()}; the reply is lost`, false);
  const twice = copyOf(after);
  twice.flight = state.flight;
  emit(twice, () => `${label()}; the reply is lost, and the command will be executed again`, false);
  const again = copyOf(received);
  again.flight = state.flight;
  emit(again, () => `${label()}; the command will be executed again`, false);
}

/** A waiter repeats its attempt, and the reply arrives at once. */
function attempt(rules: Rules, state: State, slot: number, emit: Emit): void {
  const command: Command = { op: 'w', slot, next: -1, age: 0 };
  const { after, reply, label } = executed(rules, state, command);
  receive(rules, after, command, reply);
  emit(after, label, true);
}

/** A process undoes an abandoned token until the server confirms it. */
function undo(rules: Rules, state: State, slot: number, emit: Emit): void {
  if (isDowngrading(rules, state, slot)) return;
  const { after, label } = executed(rules, state, { op: 'd', slot, next: -1, age: 0 });
  emit(after, label, true);
}

/** A process ends, or the server loses or gains its subscription. */
function moveProcesses({ names, config }: Rules, state: State, emit: Emit): void {
  for (let process = 0; process < config.processes; process += 1) {
    const bit = 1 << process;
    const name = (): string => `process ${names.processes[process].charAt(0)}`;
    const isLive = (state.live & bit) !== 0;
    const isSubscribed = (state.subscribed & bit) !== 0;
    if (isLive) {
      const crashed = copyOf(state);
      crashed.live &= ~bit;
      for (let slot = 0; slot < state.phases.length; slot += 1) {
        if (names.processOfSlot(slot) !== process || state.phases[slot] === FREE) continue;
        crashed.phases[slot] = ABANDONED;
        crashed.lefts[slot] = 0;
      }
      emit(crashed, () => `${name()} crashes`, false);
    }
    if (isLive || isSubscribed) {
      const turned = copyOf(state);
      turned.subscribed ^= bit;
      emit(turned, () => `the subscription of ${name()} ${isSubscribed ? 'ends' : 'begins'}`, false);
    }
  }
}

/** The server loses one key, or everything. Leases that depend on it no longer count. */
function lose(rules: Rules, state: State, emit: Emit): void {
  for (let i = 1; i < state.entries.length; i += 1) {
    const entry = state.entries[i];
    if (entry === undefined) continue;
    const lost = copyOf(state);
    lost.entries[i] = undefined;
    if ((i - 1) % 4 === 0 || (i - 1) % 4 === 2) voidHolders(rules, lost, Math.floor((i - 1) / 4));
    emit(lost, () => `the server loses the key ${rules.names.keys[i]}`, false);
  }
  if (state.entries.every((entry) => entry === undefined)) return;
  // A restart takes time, during which the clock passes the last fencing token.
  const lost = later(rules, state);
  lost.entries = state.entries.map(() => undefined);
  for (let lock = 0; lock < rules.config.locks; lock += 1) voidHolders(rules, lost, lock);
  emit(lost, () => 'the server restarts without data', false);
}

function later({ config }: Rules, state: State): State {
  const next = copyOf(state);
  next.now = state.now + 1;
  next.flight = state.flight.map((command) => {
    const age =
      command.op === 'd'
        ? 0
        : Math.min(command.age + 1, oldest(command.op, config.durations.EXECUTION_LIMIT_MS, config.ttlMs));
    return { ...command, age };
  });
  for (let slot = 0; slot < next.phases.length; slot += 1) {
    if (next.phases[slot] !== HOLDING && next.phases[slot] !== VOID) continue;
    next.lefts[slot] -= 1;
    if (next.lefts[slot] <= 0) next.phases[slot] = ABANDONED;
  }
  return next;
}

/** An older command has the same effect. */
const oldest = (op: string, limitMs: number, ttlMs: number): number => (op === 'n' || op === 'g' ? ttlMs : limitMs + 1);
