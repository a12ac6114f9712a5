import { type AcquireAnswer, type AnswerListener, whenAnswered } from '../store/lock-store.js';
import type { EngineContext } from './context.js';
import { FencingBlock, type Grant } from './lease/grant.js';
import { LARGEST_BLOCK } from './local-hand-over.js';

/** Another block is requested when fewer than two tokens are left for each permit, and fewer than this. */
const FEW = 32;
/** Shorter than any lease, so the command for another block never extends one. */
const NO_EXTENSION_MS = 1;

/**
 * The fencing tokens for local hand-overs of the permits of one semaphore. All grants share one block, because each token must
 * exceed the tokens of all earlier grants. A command for another block is sent in time: without tokens, every permit would have to
 * be released to the store.
 */
export class PermitBlocks implements AnswerListener<AcquireAnswer> {
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

  /** Its first holder has the token that the store issued for it. The next ones get tokens of the newest block. */
  add(grant: Grant): void {
    const { newest } = this;
    if (newest?.isNewerThan(grant.block) === true) grant.block = newest;
    else this.use(grant.block, grant.startedAt);
  }

  /**
   * Requests another block if few tokens are left, or if a caller that came at `since` came after the present block was requested. An
   * acquire with the owner token of a present holder only issues a block. If the lease has ended, it takes a free permit for the
   * shortest time.
   */
  refill({ key, ownerToken, block, ended }: Grant, since: number): void {
    const suffices = block.left >= Math.min(2 * this.held.size, FEW) && since <= this.issuedFor;
    if (this.requested || ended || suffices) return;
    this.requested = true;
    this.requestedAt = this.context.clock.now();
    const request = { key, ownerToken, kind: 'semaphore', ttlMs: NO_EXTENSION_MS, wait: false } as const;
    whenAnswered(this.context.store.acquire({ ...request, block: LARGEST_BLOCK }), this);
  }

  /** @internal */
  answered(answer: AcquireAnswer): void {
    this.requested = false;
    if (answer.outcome !== 'granted') return;
    const block = new FencingBlock(answer.fencingToken, LARGEST_BLOCK);
    if (this.newest?.isNewerThan(block) !== true) this.use(block, this.requestedAt);
    if (answer.waiting > 0) this.contended();
  }

  /** @internal */
  failed(): void {
    this.requested = false;
  }

  private use(block: FencingBlock, issuedFor: number): void {
    this.newest = block;
    this.issuedFor = issuedFor;
    for (const grant of this.held.values()) grant.block = block;
  }
}
