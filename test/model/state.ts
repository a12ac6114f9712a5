/**
 * The states of the model and their canonical form: a short array of bytes. Times are stored as distances from the present,
 * arrival numbers as ranks, and fencing tokens as distances from the clock, so that equivalent states become equal.
 */
import type { Config } from './config.js';

/** One key of the server. `value` is a text, or undefined for a sorted set. */
export interface Entry {
  readonly value: string | undefined;
  /** Members in the order of their scores. */
  readonly members: readonly string[];
  readonly scores: readonly number[];
  /** The last millisecond in which the key exists. */
  readonly endsAt: number;
}

/** A command between a process and the server. */
export interface Command {
  readonly op: string;
  readonly slot: number;
  /** The slot of a second token; -1: none; -2: the word `-`. */
  readonly next: number;
  /** Milliseconds since it was sent; at most the age from which the effect does not change. */
  readonly age: number;
}

/** What a process knows about one of its tokens. */
export const FREE = 0;
/** A caller waits for the lock. */
export const TRYING = 1;
/** The process relies on the lease for `left` milliseconds. */
export const HOLDING = 2;
/** The process has given the token up. It is never used again; a trace of it may be left. */
export const ABANDONED = 3;
/** As HOLDING, but the server has lost data since or an operator took the lock over, so exclusion is not guaranteed. */
export const VOID = 4;

export interface State {
  /** The clock of the server and of all processes. */
  now: number;
  /** The counter at index 0, then four keys for each lock. */
  entries: (Entry | undefined)[];
  /** The largest fencing token of all grants. */
  largest: number;
  phases: number[];
  lefts: number[];
  /** Bits of the processes that run. */
  live: number;
  /** Bits of the processes that the server counts as subscribers. */
  subscribed: number;
  flight: Command[];
}

/** The present of each decoded state. */
const BEGIN = 1_700_000_030_000;
const STAMPS = 2 ** 16;
const READERS_FROM = -(2 ** 36);
const OPS = 'awdrngsmet';
/** Length of a state in bytes. */
export const WIDTH = 96;

export const copyOf = (state: State): State => ({
  now: state.now,
  entries: state.entries.slice(),
  largest: state.largest,
  phases: state.phases.slice(),
  lefts: state.lefts.slice(),
  live: state.live,
  subscribed: state.subscribed,
  flight: state.flight,
});

/** Names of keys and tokens of one configuration, and the two directions of the canonical form. */
export class Names {
  readonly tokens: readonly string[];
  readonly processes: readonly string[];
  readonly keys: readonly string[];
  private readonly ids = new Map<string, number>();
  private readonly texts: string[] = [];
  private readonly indexes = new Map<string, number>();
  /** Bits of the tokens of which the present state has a trace. */
  private used = 0;

  constructor(readonly config: Config) {
    const names = [...'ABC'].slice(0, config.processes).concat(config.tickets ? ['T'] : []);
    this.processes = names.map((name) => name.repeat(22));
    this.tokens = this.processes.flatMap((process) =>
      config.slots.map(({ suffix }, s) => `${process}:${s + 1}${suffix}`),
    );
    this.keys = ['fence0'];
    const keys = ['fence0'];
    for (let lock = 0; lock < config.locks; lock += 1) {
      for (const kind of ['lock', 'queue', 'leases', 'gate']) keys.push(`${kind}${lock}`);
    }
    this.keys = keys;
    keys.forEach((key, i) => this.indexes.set(key, i));
    for (const text of [...this.tokens, ...this.processes, 'readers']) this.idOf(text);
  }

  keyIndex(key: string): number {
    const index = this.indexes.get(key);
    if (index === undefined) throw new Error(`The rules used an unknown key: ${key}`);
    return index;
  }

  processOfSlot(slot: number): number {
    return Math.floor(slot / this.config.slots.length);
  }

  /** Whether the slot has the token of a detached lease. */
  isDetached(slot: number): boolean {
    return this.processOfSlot(slot) >= this.config.processes;
  }

  private idOf(text: string): number {
    let id = this.ids.get(text);
    if (id === undefined) {
      id = this.texts.length;
      if (id > 250) throw new Error('The rules wrote too many different values.');
      this.ids.set(text, id);
      this.texts.push(text);
    }
    return id;
  }

  first(): State {
    const { processes, locks } = this.config;
    const all = 2 ** processes - 1;
    return {
      now: BEGIN,
      entries: Array.from({ length: 1 + 4 * locks }, () => undefined),
      largest: 0,
      phases: this.tokens.map(() => FREE),
      lefts: this.tokens.map(() => 0),
      live: all,
      subscribed: all,
      flight: [],
    };
  }

  /** Writes the canonical form of a state to `bytes`, which must be empty. */
  encode(state: State, bytes: Uint8Array): void {
    const { now, entries, phases, lefts } = state;
    let [counter, largest] = this.numbersOf(state);
    const both = Math.min(counter, largest);
    if (both >= 3) {
      counter -= both - 3;
      largest -= both - 3;
    }
    bytes[0] = Math.min(counter, 7);
    bytes[1] = Math.min(largest, 7);
    bytes[2] = state.live;
    bytes[3] = state.subscribed;
    let at = 4 + phases.length;
    const flight = state.flight.map(codeOf).sort(ascending);
    bytes[at++] = flight.length;
    for (const code of flight) {
      bytes[at++] = code & 255;
      bytes[at++] = (code >> 8) & 255;
      bytes[at++] = code >> 16;
    }
    this.used = 0;
    for (const { slot, next } of state.flight) this.used |= (1 << slot) | (next >= 0 ? 1 << next : 0);
    for (let i = 1; i < entries.length; i += 1) at = this.encodeEntry(entries[i], i, now, bytes, at);
    if (at > WIDTH) throw new Error('A state is too large.');
    for (let slot = 0; slot < phases.length; slot += 1) {
      const phase = phases[slot] === ABANDONED && (this.used & (1 << slot)) === 0 ? FREE : phases[slot];
      bytes[4 + slot] = phase | (lefts[slot] << 3);
    }
  }

  /** Writes one key at a place; returns the next place. */
  private encodeEntry(entry: Entry | undefined, i: number, now: number, bytes: Uint8Array, at: number): number {
    if (entry === undefined || now > entry.endsAt) return at + 1;
    bytes[at++] = entry.endsAt === Infinity ? 255 : entry.endsAt - now + 1;
    if (entry.value !== undefined) {
      bytes[at++] = this.usedId(entry.value);
      return at;
    }
    const ranks = (i - 1) % 4 === 1 ? ranksOf(entry.scores) : undefined;
    bytes[at++] = entry.members.length;
    for (let j = 0; j < entry.members.length; j += 1) {
      bytes[at++] = this.usedId(entry.members[j]);
      if (ranks === undefined) bytes[at++] = Math.max(entry.scores[j] - now, 0);
      else {
        bytes[at++] = ranks[j];
        if (this.config.stamps) bytes[at++] = this.ageOf(entry.scores[j], now);
      }
    }
    return at;
  }

  /** The number of a text; a token counts as used. */
  private usedId(text: string): number {
    const id = this.idOf(text);
    if (id < this.tokens.length) this.used |= 1 << id;
    return id;
  }

  /** A counter and the largest number: 0 missing, 1 small, 2 before the clock, 3 at the clock, 4 the next number. */
  private numbersOf({ now, entries, largest }: State): [number, number] {
    const clock = now * 1000;
    const text = entries[0]?.value;
    const distance = (number: number): number => (number < clock ? 2 : 3 + number - clock);
    if (text === undefined) return [0, distance(largest)];
    return [Number(text) < clock / 2 ? 1 : distance(Number(text)), distance(largest)];
  }

  /** Milliseconds since the last attempt of a waiter, at most the claim window. */
  private ageOf(score: number, now: number): number {
    const stamp = Math.round((score - Math.floor(score)) * STAMPS);
    return Math.min(((now % STAMPS) - stamp + STAMPS) % STAMPS, this.config.durations.CLAIM_WINDOW_MS);
  }

  decode(bytes: Uint8Array, from: number): State {
    const state = this.first();
    const clock = BEGIN * 1000;
    const number = (distance: number): number => (distance === 2 ? clock - 10 : clock + distance - 3);
    if (bytes[from] > 0) {
      const value = String(bytes[from] === 1 ? 1 : number(bytes[from]));
      state.entries[0] = { value, members: NONE, scores: NO_SCORES, endsAt: Infinity };
    }
    state.largest = number(bytes[from + 1]);
    state.live = bytes[from + 2];
    state.subscribed = bytes[from + 3];
    let at = from + 4;
    for (let slot = 0; slot < state.phases.length; slot += 1) {
      state.phases[slot] = bytes[at] & 7;
      state.lefts[slot] = bytes[at++] >> 3;
    }
    const count = bytes[at++];
    for (let i = 0; i < count; i += 1) {
      state.flight.push(commandOfCode(bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16)));
      at += 3;
    }
    for (let i = 1; i < state.entries.length; i += 1) at = this.decodeEntry(state.entries, i, bytes, at);
    return state;
  }

  /** Reads one key at a place; returns the next place. */
  private decodeEntry(entries: (Entry | undefined)[], i: number, bytes: Uint8Array, at: number): number {
    const left = bytes[at++];
    if (left === 0) return at;
    const endsAt = left === 255 ? Infinity : BEGIN + left - 1;
    const kind = (i - 1) % 4;
    if (kind === 0 || (kind === 3 && this.config.kind === 'read-write')) {
      entries[i] = { value: this.texts[bytes[at++]], members: NONE, scores: NO_SCORES, endsAt };
      return at;
    }
    const size = bytes[at++];
    const members: string[] = [];
    const scores: number[] = [];
    for (let j = 0; j < size; j += 1) {
      const member = this.texts[bytes[at++]];
      members.push(member);
      let score = bytes[at++];
      if (kind !== 1) score += BEGIN;
      else if (this.config.stamps) {
        if (member.endsWith(':r')) score += READERS_FROM;
        score += (((BEGIN % STAMPS) - bytes[at++] + STAMPS) % STAMPS) / STAMPS;
      }
      scores.push(score);
    }
    entries[i] = { value: undefined, members, scores, endsAt };
    return at;
  }
}

export const NONE: readonly string[] = [];
export const NO_SCORES: readonly number[] = [];

const ascending = (a: number, b: number): number => a - b;

const codeOf = ({ op, slot, next, age }: Command): number =>
  OPS.indexOf(op) | (age << 4) | (slot << 8) | ((next + 2) << 16);

const commandOfCode = (code: number): Command => ({
  op: OPS.charAt(code & 15),
  age: (code >> 4) & 15,
  slot: (code >> 8) & 255,
  next: (code >> 16) - 2,
});

/** The ranks of arrival numbers; those of readers and writers are counted together. */
function ranksOf(scores: readonly number[]): number[] {
  const arrivals = scores.map((score) => {
    const arrival = Math.floor(score);
    return arrival < 0 ? arrival - READERS_FROM : arrival;
  });
  return arrivals.map((arrival) => 1 + new Set(arrivals.filter((other) => other < arrival)).size);
}
