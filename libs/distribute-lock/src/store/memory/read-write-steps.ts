import { processOf } from '../../runtime/owner-token.js';
import { READERS } from '../lock-value.js';
import { CLAIM_WINDOW_MS, SHORT_OFFER_MS } from '../protocol.js';
import { isReader, TableState, Sweep } from './table-state.js';

/** Previous holder of the lock: a writer, readers, or unknown. */
export type Before = 'writer' | 'readers' | 'unknown';

/** Tokens of the caller, of one kind, that need no offer: one token, or all tokens of this process. */
export interface Own {
  readonly reads: boolean;
  readonly token?: string;
  readonly process?: string;
  readonly ttlMs: number;
}

/** Result of an assignment: `mine` is the token of the caller that got the lock, if any. */
export interface Taker {
  readonly mine?: string;
}

/** The alternation of readers and writers: the steps of `readwrite.lua`. */
export abstract class ReadWriteSteps extends TableState {
  protected readonly leases = new ReaderLeases(() => this.host.now());

  /** Leases of the current readers, in the order of their ends. */
  readers(key: string): readonly ReaderLease[] {
    return this.owner(key) === READERS ? this.leases.of(key) : [];
  }

  /** Milliseconds until the gate opens; 0 when it is open. */
  gateLeftMs(key: string): number {
    return this.owner(key) === READERS ? this.leases.gateLeftMs(key) : 0;
  }

  override flush(): void {
    super.flush();
    this.leases.flush();
  }

  protected reads(key: string, ownerToken: string): boolean {
    return this.owner(key) === READERS && this.leases.lives(key, ownerToken);
  }

  /** Adds a reader if the gate is open, or extends the lease of a current reader. */
  protected join(key: string, ownerToken: string, ttlMs: number): boolean {
    const open = this.readers(key).length > 0 && this.gateLeftMs(key) === 0;
    if (!open && !this.reads(key, ownerToken)) return false;
    this.leases.lend(key, ownerToken, ttlMs);
    this.settle(key);
    this.unqueue(key, ownerToken);
    return true;
  }

  /** Removes expired leases; the lock ends with the last one. Returns false if no lease is left. */
  protected settle(key: string): boolean {
    const endsAt = this.leases.purge(key);
    if (endsAt === undefined) this.locks.delete(key);
    else this.put(key, READERS, endsAt);
    return endsAt !== undefined;
  }

  /** Assigns the lock to readers: to `own` for its whole ttl, and to all waiting readers. */
  protected beginReading(key: string, own: string | undefined, ttlMs: number): boolean {
    this.leases.clear(key);
    if (this.queued(key).some((token) => !isReader(token))) this.leases.closeGate(key);
    if (own !== undefined) this.leases.lend(key, own, ttlMs);
    return this.letIn(key, own);
  }

  /** Admits the waiting readers. An offer to a reader is a lease, for as long as `offer` says. */
  protected letIn(key: string, own?: string): boolean {
    const reached = new Map<string | undefined, boolean>();
    for (const token of this.queued(key).filter(isReader)) {
      this.unqueue(key, token);
      if (token === own) continue;
      const process = processOf(token);
      if (reached.get(process) !== false) reached.set(process, this.notify(token, 'granted', key));
      this.leases.lend(key, token, reached.get(process) === true ? CLAIM_WINDOW_MS : SHORT_OFFER_MS);
    }
    if (own === undefined && reached.size > 0 && ![...reached.values()].includes(true)) this.wakeNext(key);
    return this.settle(key);
  }

  /** Assigns a free lock to waiters. Returns undefined when the queue is empty; the lock is then free. */
  protected hand(key: string, before: Before, own: Own): Taker | undefined {
    const next = this.next(key, before);
    if (next !== undefined) return next === READERS ? this.handToReaders(key, own) : this.handToWriter(key, next, own);
    this.locks.delete(key);
    this.leases.clear(key);
    return undefined;
  }

  /** The next writer token, or `READERS` for all waiting readers. */
  private next(key: string, before: Before): string | undefined {
    const queued = this.queued(key);
    const writer = queued.find((token) => !isReader(token));
    if (writer === undefined) return queued.length > 0 ? READERS : undefined;
    if (!queued.some(isReader) || before === 'readers') return writer;
    return before === 'writer' || isReader(queued[0]) ? READERS : writer;
  }

  private handToReaders(key: string, own: Own): Taker {
    const waiting = this.queued(key).filter(isReader);
    const mine = own.reads ? (own.token ?? waiting.find((token) => isOwn(token, own))) : undefined;
    this.beginReading(key, mine, own.ttlMs);
    return mine === undefined ? {} : { mine };
  }

  private handToWriter(key: string, writer: string, own: Own): Taker {
    if (!own.reads && isOwn(writer, own)) {
      this.unqueue(key, writer);
      this.set(key, writer, own.ttlMs);
      this.leases.clear(key);
      return { mine: writer };
    }
    this.offer(key, writer);
    this.leases.clear(key);
    return {};
  }
}

const isOwn = (token: string, own: Own): boolean =>
  token === own.token || (own.process !== undefined && processOf(token) === own.process);

/** The lease of one reader. */
export interface ReaderLease {
  readonly ownerToken: string;
  readonly endsAt: number;
}

/**
 * Leases of readers, and the gates that stop new readers while a writer waits. They apply only while the lock key holds
 * `readers`.
 */
export class ReaderLeases {
  private readonly ends = new Map<string, Map<string, number>>();
  private readonly sweep = new Sweep();
  private readonly gates = new Map<string, number>();

  constructor(private readonly now: () => number) {}

  /** Valid leases in the order of their ends. */
  of(key: string): readonly ReaderLease[] {
    return [...(this.ends.get(key) ?? [])]
      .map(([ownerToken, endsAt]) => ({ ownerToken, endsAt }))
      .filter(({ endsAt }) => endsAt > this.now())
      .sort((a, b) => a.endsAt - b.endsAt || (a.ownerToken < b.ownerToken ? -1 : 1));
  }

  lives(key: string, ownerToken: string): boolean {
    return (this.ends.get(key)?.get(ownerToken) ?? -Infinity) > this.now();
  }

  /** Grants or extends a lease; shortens it only if `exact`. */
  lend(key: string, ownerToken: string, ms: number, exact = false): void {
    if (!this.ends.has(key)) this.ends.set(key, new Map());
    const leases = this.ends.get(key)!;
    leases.set(ownerToken, Math.max((exact ? undefined : leases.get(ownerToken)) ?? -Infinity, this.now() + ms));
    this.sweep.of(this.ends, (each) => this.of(each).length === 0);
  }

  end(key: string, ownerToken: string): void {
    this.ends.get(key)?.delete(ownerToken);
  }

  /** Removes expired leases. Returns the end of the last valid one, or undefined. */
  purge(key: string): number | undefined {
    const living = this.of(key);
    this.ends.set(key, new Map(living.map(({ ownerToken, endsAt }) => [ownerToken, endsAt])));
    if (living.length === 0) this.clear(key);
    return living.at(-1)?.endsAt;
  }

  /** Removes all leases and opens the gate. */
  clear(key: string): void {
    this.ends.delete(key);
    this.openGate(key);
  }

  /** Returns whether the gate was open. */
  closeGate(key: string): boolean {
    const wasOpen = this.gateLeftMs(key) === 0;
    this.gates.set(key, this.now() + CLAIM_WINDOW_MS);
    return wasOpen;
  }

  openGate(key: string): void {
    this.gates.delete(key);
  }

  /** Milliseconds until the gate opens; 0 when it is open. */
  gateLeftMs(key: string): number {
    return Math.max(Math.ceil((this.gates.get(key) ?? 0) - this.now()), 0);
  }

  flush(): void {
    this.ends.clear();
    this.gates.clear();
  }
}
