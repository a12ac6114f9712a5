import { processOf } from '../../runtime/owner-token.js';
import { deleteForeignScript } from '../../scripts/generated/lua-scripts.js';
import { takeAway } from '../forcing.js';
import { kindOfValue, type LockState } from '../lock-state.js';
import type { LockStore } from '../lock-store.js';
import { CHANNEL_PREFIX } from './inbox.js';
import { keyPrefixOf } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { storeError } from './redis-errors.js';
import type { RedisKeys } from './redis-keys.js';

/** How long a question of an operator may take. */
const ANSWER_LIMIT_MS = 2_000;

/** Looking at locks, and taking them away: rare, so it does without scripts of its own where it can. */
export class RedisAdmin {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
  ) {}

  /** All answers come from about the same moment, which is as good as advice can be. */
  async inspect(key: string): Promise<LockState> {
    const lockKey = this.keys.lock(key);
    const [permits, permitsQueue] = this.keys.semaphore(lockKey);
    await this.connection.whenReady(ANSWER_LIMIT_MS);
    const [value, leftMs, readers, holders, waiting, waitingForPermits] = await this.asked(
      this.connection.client
        .pipeline()
        .get(lockKey)
        .pttl(lockKey)
        .zrange(this.keys.readers(lockKey), '0', '-1')
        .zrange(permits, '0', '-1')
        .zcard(this.keys.queue(lockKey))
        .zcard(permitsQueue)
        .exec(),
    );
    const owner = (value as string | null) ?? undefined;
    const is = kindOfValue(owner, owner !== undefined && processOf(owner) !== undefined);
    const among = { free: [], read: readers, semaphore: holders, exclusive: [owner], foreign: [owner] };
    return {
      ...is,
      holders: among[is.kind] as string[],
      remainingMs: is.kind === 'free' ? 0 : Number(leftMs),
      waiting: Number(waiting) + Number(waitingForPermits),
    };
  }

  async force(store: LockStore, key: string): Promise<boolean> {
    const state = await this.inspect(key);
    const { client } = this.connection;
    const lockKey = this.keys.lock(key);
    return takeAway(store, key, state, {
      tell: (ownerToken) =>
        client
          .publish(`${CHANNEL_PREFIX}${processOf(ownerToken)}`, `v ${ownerToken} ${keyPrefixOf(client)}${lockKey}`)
          // Without the right to publish its next renewal tells the holder.
          .catch(() => undefined),
      deleteForeign: async (value) => {
        const deleted = client.eval(deleteForeignScript.lua, 1, lockKey, value).catch((error: unknown) => {
          throw storeError(error);
        });
        return Number(await deleted) === 1;
      },
    });
  }

  private async asked(answers: Promise<[error: Error | null, result: unknown][] | null>): Promise<unknown[]> {
    const replies = await answers.catch((error: unknown) => Promise.reject(storeError(error)));
    return (replies ?? []).map(([error, result]) => {
      if (error !== null) throw storeError(error);
      return result;
    });
  }
}
