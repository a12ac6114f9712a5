import { checkInboxScript, markCounterScript } from '../generated/lua-scripts.js';
import { LockStoreError } from '../lock-store.js';
import type { RedisClient } from './redis-client.js';
import { messageOf } from './redis-errors.js';
import { hashed, type RedisKeys, slotOf } from './redis-keys.js';

/** How the locks of a prefix share script calls and counters of fencing tokens. @public */
export type LockLayout = 'auto' | 'slot' | 'single';

export const LAYOUTS: readonly LockLayout[] = ['auto', 'slot', 'single'];

/** Errors of servers and proxies that run a script only if its keys are in one slot. */
const ONE_SLOT_ONLY = /^CROSSSLOT\b|\bsame (?:hash )?slot\b/i;

/** Time for which a mark counts, and the interval at which it is renewed while commands are sent. */
const MARK_MS = 30_000;
const MARK_AGAIN_MS = 10_000;

const needsOneSlot = (error: unknown): boolean => ONE_SLOT_ONLY.test(messageOf(error));

/**
 * The layout of locks on one server.
 *
 * With the single layout a script call may have many locks, and one counter issues all fencing tokens. With the slot
 * layout a call has one lock, and each lock has a counter, because the server accepts only keys of one slot.
 *
 * Both layouts use the same lock keys, so their instances exclude each other. Their counters differ, so instances with
 * the slot layout mark the shared counter: others then take every fencing token from the clock.
 */
export class Layout {
  bySlot: boolean;
  /** Whether the server has accepted or refused the single layout. */
  known: boolean;
  /** Whether scripts must publish to a channel in the slot of the lock, because the server refuses other channels. */
  sharded = false;
  /** Reason of a server that refuses the single layout. */
  refusal: string | undefined;
  private markedAt = -Infinity;

  constructor(
    readonly option: LockLayout,
    private readonly client: RedisClient,
    private readonly keys: RedisKeys,
    private readonly clustered: boolean,
  ) {
    this.known = clustered || option !== 'auto' || this.inOneSlot;
    this.bySlot = clustered || option === 'slot' || (option === 'auto' && this.inOneSlot);
  }

  /** Whether the prefix has a `{tag}`, so that all locks are in one slot and a server never refuses a call. */
  get inOneSlot(): boolean {
    return hashed(this.keys.prefix) !== this.keys.prefix;
  }

  /** Asks the server on a new connection with one call whose keys are in two slots. Never rejects. */
  async find(): Promise<void> {
    if (this.clustered) return;
    this.markedAt = -Infinity;
    await this.findLayout();
    this.sharded = this.bySlot && (await this.refusesPublish());
  }

  private async findLayout(): Promise<void> {
    if (this.option === 'slot' || this.inOneSlot) return;
    try {
      await this.client.eval('return 1', 2, ...inTwoSlots(this.keys));
      this.refusal = undefined;
      this.bySlot = false;
      this.known = true;
    } catch (error) {
      // Any other error concerns the layout of neither kind.
      if (needsOneSlot(error)) this.refuse(error);
    }
  }

  /** Whether a script may not publish to a channel of another slot. No process subscribes to this channel. */
  private async refusesPublish(): Promise<boolean> {
    const { keys } = this;
    const channelSlot = slotOf(keys.probe);
    // With a {tag} in the prefix, keys and channels share one slot.
    const key = this.inOneSlot ? keys.fence : inTwoSlots(keys).find((other) => slotOf(other) !== channelSlot)!;
    const { lua } = checkInboxScript;
    const reply = await this.client.eval(lua, 1, key, '', keys.probe).catch(() => undefined);
    return typeof reply === 'string';
  }

  /** Sentences for the operator. */
  advice(): readonly string[] {
    const { prefix } = this.keys;
    if (this.inOneSlot)
      return [
        `The prefix "${prefix}" contains a {tag}, so a Redis Cluster keeps all locks on one node. ` +
          'Remove the braces, unless one call takes several keys.',
      ];
    if (this.clustered || this.refusal === undefined) return [];
    return [
      `The server only runs scripts whose keys are in one slot (${this.refusal}), so each lock has its own script call and ` +
        'fencing counter (layout "slot").',
    ];
  }

  /** @throws LockStoreError if the server refuses the layout of option `layout` */
  check(): void {
    if (this.refusal === undefined || this.bySlot) return;
    throw new LockStoreError(
      `Option "layout" is "single", but the server only runs scripts whose keys are in one slot (${this.refusal}). ` +
        'Set it to "auto" or "slot" for all instances of the prefix.',
      false,
      { sent: false },
    );
  }

  /** Adopts the slot layout if `error` demands it. Returns whether the refused commands may be sent again. */
  refuse(error: unknown): boolean {
    if (!needsOneSlot(error)) return false;
    this.refusal = messageOf(error);
    this.known = true;
    this.bySlot ||= this.option === 'auto';
    return this.bySlot;
  }

  /** Renews the mark. The server executes it before the commands that follow on the same connection. */
  mark(now: number): void {
    if (now - this.markedAt < MARK_AGAIN_MS || (this.clustered && !this.inOneSlot)) return;
    this.markedAt = now;
    const { lua } = markCounterScript;
    this.client.eval(lua, 1, this.keys.fence, MARK_MS).catch(() => (this.markedAt = -Infinity));
  }
}

/** Two names of counters in different slots, for a prefix without a `{tag}`. */
function inTwoSlots(keys: RedisKeys): [string, string] {
  for (let i = 0; ; i += 1) {
    const other = keys.fenceOf(keys.lock(String(i)));
    if (slotOf(other) !== slotOf(keys.fence)) return [keys.fence, other];
  }
}
