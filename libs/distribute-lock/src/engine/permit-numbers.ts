import { type AcquireAnswer, type AnswerListener, whenAnswered } from '../store/lock-store.js';
import type { EngineContext } from './context.js';
import { FencingBlock, type Grant } from './lease/grant.js';
import { MOST_NUMBERS } from './local-hand-over.js';

/** More numbers are requested when fewer than two are left for each permit, and fewer than this. */
const FEW = 32;
/** Shorter than any lease, so the command for more numbers never extends one. */
const NO_EXTENSION_MS = 1;

/**
 * The fencing tokens for local hand-overs of the permits of one semaphore. All grants share one block, because each token must
 * exceed the tokens of all earlier grants. A command for more numbers is sent in time: without numbers, every permit would have to
 * be released to the store.
 */
export class PermitNumbers implements AnswerListener<AcquireAnswer> {
  /** The latest block that the store issued. */
  private newest: FencingBlock | undefined = undefined;
  private requested = false;
  private requestedAt = -Infinity;
  /**
   * When the command for the newest block was sent. A caller that came later may know a larger token, which the store has issued
   * to another process since.
   */
  issuedFor = -Infinity;

  constructor(
    private readonly context: EngineContext,
    private readonly held: ReadonlyMap<string, Grant>,
    /** Called when an answer reports that another process waits. */
    private readonly contended: () => void,
  ) {}

  /** Its first holder has the number that the store issued for it. The next ones get the newest numbers. */
  add(grant: Grant): void {
    const { newest } = this;
    if (newest?.isNewerThan(grant.numbers) === true) grant.numbers = newest;
    else this.use(grant.numbers, grant.startedAt);
  }

  /**
   * Requests more numbers if few are left, or if a caller that came at `since` came after the present numbers were requested. An
   * acquire with the token of a present holder only issues numbers. If the lease has ended, it takes a free permit for the
   * shortest time.
   */
  refill({ key, ownerToken, numbers, ended }: Grant, since: number): void {
    const suffices = numbers.left >= Math.min(2 * this.held.size, FEW) && since <= this.issuedFor;
    if (this.requested || ended || suffices) return;
    this.requested = true;
    this.requestedAt = this.context.clock.now();
    const numbered = { key, ownerToken, kind: 'semaphore', ttlMs: NO_EXTENSION_MS, wait: false } as const;
    whenAnswered(this.context.store.acquire({ ...numbered, block: MOST_NUMBERS }), this);
  }

  /** @internal */
  answered(answer: AcquireAnswer): void {
    this.requested = false;
    if (answer.outcome !== 'granted') return;
    const numbers = new FencingBlock(answer.fencingToken, MOST_NUMBERS);
    if (this.newest?.isNewerThan(numbers) !== true) this.use(numbers, this.requestedAt);
    if (answer.waiting > 0) this.contended();
  }

  /** @internal */
  failed(): void {
    this.requested = false;
  }

  private use(numbers: FencingBlock, issuedFor: number): void {
    this.newest = numbers;
    this.issuedFor = issuedFor;
    for (const grant of this.held.values()) grant.numbers = numbers;
  }
}
