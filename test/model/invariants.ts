/** What must be true after each command, and in each state. */
import { GRANTED, GRANTED_NEXT, REFUSED, RENEWED } from '../../libs/distribute-lock/src/store/protocol/reply-codes.js';
import { ticketOf, type Reply, type Rules } from './rules.js';
import { HOLDING, TRYING, type Command, type Entry, type State } from './state.js';

/** Returns the sentence of the invariant that does not hold, or undefined. */
export function brokenByCommand(
  rules: Rules,
  before: State,
  after: State,
  command: Command,
  reply: Reply,
): string | undefined {
  if (reply[0] === REFUSED) return `the rules reject a command: ${reply[1]}`;
  return (
    brokenFence(before, reply) ??
    brokenDeadline(rules, before, after, command, reply) ??
    brokenLease(rules, before, after, command, reply)
  );
}

/** A number of a lost counter is small; its sender notices that and does not use it. */
export const isSmall = (fence: number, now: number): boolean => fence < now * 500;

function brokenFence({ largest, now }: State, [code, number]: Reply): string | undefined {
  if ((code !== GRANTED && code !== GRANTED_NEXT) || isSmall(Number(number), now)) return undefined;
  return Number(number) > largest ? undefined : 'fencing tokens rise';
}

function brokenDeadline(
  { config, names }: Rules,
  before: State,
  after: State,
  { op, age, next }: Command,
  [code]: Reply,
): string | undefined {
  if (age <= config.durations.EXECUTION_LIMIT_MS) return undefined;
  const broken = 'a command after its deadline has no effect for its process';
  if ('awmst'.includes(op)) return before.entries.every((entry, i) => entry === after.entries[i]) ? undefined : broken;
  if (op !== 'r') return undefined;
  if (code === GRANTED_NEXT) return broken;
  const isNew = (index: number): boolean =>
    next >= 0 && has(after.entries[index], names.tokens[next]) && !has(before.entries[index], names.tokens[next]);
  return isNew(2) ? broken : undefined;
}

const has = (entry: Entry | undefined, token: string): boolean => entry?.members.includes(token) === true;

/** The end of the lease of a token in the server; 0: none. */
function leaseEnd({ names, config }: Rules, { entries, now }: State, slot: number): number {
  const at = 1 + 4 * config.slots[slot % config.slots.length].lock;
  const lock = entries[at];
  if (lock === undefined || now > lock.endsAt) return 0;
  const token = names.tokens[slot];
  if (lock.value === token) return lock.endsAt;
  const leases = entries[at + 2];
  if (leases === undefined || now > leases.endsAt || (lock.value !== 'readers' && config.kind !== 'semaphore'))
    return 0;
  const place = leases.members.indexOf(token);
  if (place < 0) return 0;
  const endsAt = Math.min(leases.scores[place], lock.endsAt, leases.endsAt);
  return endsAt > now ? endsAt : 0;
}

/** A command ends or shortens no lease of another token. Only a takeover does. */
function brokenLease(
  rules: Rules,
  before: State,
  after: State,
  { op, slot, next }: Command,
  [code]: Reply,
): string | undefined {
  if (op === 's') return undefined;
  if (op === 't' && code === GRANTED && leaseEnd(rules, before, slot) === 0 && leaseEnd(rules, before, next) === 0) {
    return 'a move continues a lease';
  }
  if (op === 'n' && code === RENEWED && leaseEnd(rules, before, slot) === 0) {
    return 'a renewal does not revive a lease that has ended';
  }
  for (let other = 0; other < rules.names.tokens.length; other += 1) {
    if (other === slot && op !== 'n' && op !== 'a' && op !== 'w' && op !== 'm') continue;
    const ended = leaseEnd(rules, before, other);
    if (op === 'n' && other !== slot && leaseEnd(rules, after, other) > ended) {
      return 'a renewal extends no lease of another token';
    }
    if (ended > leaseEnd(rules, after, other)) {
      return other === slot
        ? 'no command shortens its lease'
        : "only the owner's token frees a lock or shortens its lease";
    }
  }
  return undefined;
}

/** Returns the sentence of the invariant that does not hold in a state, or undefined. */
export function brokenInState(rules: Rules, state: State): string | undefined {
  return brokenExclusion(rules, state) ?? brokenPromise(rules, state) ?? brokenKeys(rules, state);
}

function brokenExclusion({ config, names }: Rules, { phases, entries, now }: State): string | undefined {
  let used = 0;
  const writers = [0, 0];
  let readers = 0;
  for (let slot = 0; slot < phases.length; slot += 1) {
    // No process works under a detached lease; `brokenPromise` checks that the server keeps it.
    if (phases[slot] !== HOLDING || names.isDetached(slot)) continue;
    const { lock, isReader, weight } = config.slots[slot % config.slots.length];
    used += weight;
    if (isReader) readers += 1;
    else writers[lock] += 1;
  }
  if (config.kind === 'semaphore') {
    if (used > config.permits) return 'permits in use never exceed the number of permits';
    const leases = entries[3];
    if (leases === undefined || entries[1]?.value?.startsWith('semaphore') !== true) return undefined;
    let stored = 0;
    leases.members.forEach((token, i) => {
      if (leases.scores[i] > now) stored += config.slots[names.tokens.indexOf(token) % config.slots.length].weight;
    });
    return stored > config.permits ? 'permits in use never exceed the number of permits' : undefined;
  }
  if (writers[0] > 1 || writers[1] > 1) return 'at most one holder is valid';
  return writers[0] > 0 && readers > 0 ? 'no reader is beside a writer' : undefined;
}

/** The server keeps a lease at least as long as its process relies on it. */
function brokenPromise(rules: Rules, state: State): string | undefined {
  const { config, names } = rules;
  const { phases, lefts, now } = state;
  for (let slot = 0; slot < phases.length; slot += 1) {
    if (phases[slot] !== HOLDING) continue;
    const until = now + lefts[slot];
    if (leaseEnd(rules, state, slot) >= until) continue;
    const { isReader } = config.slots[slot % config.slots.length];
    // A downgrade that is not executed yet: the lease of the writer counts.
    const lock = state.entries[1];
    if (
      isReader &&
      lock !== undefined &&
      lock.endsAt >= until &&
      lock.value?.startsWith(names.tokens[slot].slice(0, 23))
    )
      continue;
    if (isDetaching(rules, state, slot, until)) continue;
    return 'the server keeps a lease as long as its holder relies on it';
  }
  return undefined;
}

/** The server has moved the lease to the token of a ticket that no process knows yet, and keeps it as long. */
const isDetaching = (rules: Rules, state: State, slot: number, until: number): boolean =>
  rules.config.tickets &&
  state.phases[ticketOf(rules, slot)] === TRYING &&
  leaseEnd(rules, state, ticketOf(rules, slot)) >= until;

function brokenKeys({ config, names }: Rules, { entries, now }: State): string | undefined {
  const longest = now + Math.max(config.ttlMs, config.durations.QUEUE_TTL_MS);
  for (let i = 1; i < entries.length; i += 1) {
    if (entries[i] !== undefined && entries[i]!.endsAt > longest) return `every key expires: ${names.keys[i]}`;
  }
  return undefined;
}
