import type { LuaText } from '../../scripts/generated/lua-scripts.js';
import { LockStoreError } from '../lock-store.js';
import { givesNumbersAsText, withNumbers } from './numbers-as-text.js';
import { isCluster, type RedisClient } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { isRedirection } from './redis-errors.js';

/** How many replicas must have a grant before it counts, and how long they may take. */
export interface AckSettings {
  readonly replicas: number;
  readonly timeoutMs: number;
}

/** What takes the place of a grant that too few replicas have; the script does not use this code. */
export const NOT_REPLICATED = 12;
const GRANTED = 1;
/** How often a redirection is followed, where the client does not do it by itself. */
const MOST_REDIRECTIONS = 3;

/** A call of a script as the server reads it. */
export interface ScriptCall {
  readonly script: LuaText;
  readonly withText: boolean;
  readonly keys: readonly string[];
  readonly texts: readonly string[];
}

/**
 * Runs a script and asks behind it, on the same connection, how many replicas have what it wrote: WAIT counts only what its
 * own connection wrote. Grants that too few have are marked in the answer.
 */
export async function acknowledged(connection: RedisConnection, call: ScriptCall, settings: AckSettings) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await once(connection, call, settings);
    } catch (error) {
      if (tries > MOST_REDIRECTIONS || !isRedirection(error)) throw error;
      await refreshed(connection.client);
    }
  }
}

async function once(connection: RedisConnection, call: ScriptCall, { replicas, timeoutMs }: AckSettings) {
  const { epoch, client } = connection;
  const { script, withText, keys, texts } = call;
  const pipeline = client.pipeline();
  if (withText) pipeline.eval(script.lua, keys.length, ...keys, ...texts);
  else pipeline.evalsha(script.sha1, keys.length, ...keys, ...texts);
  pipeline.wait(replicas, timeoutMs);
  const [answer, waited] = (await pipeline.exec()) ?? [];
  for (const [error] of [answer, waited]) if (error !== null) throw error;
  // On another connection WAIT has nothing to wait for, and says so by a yes.
  if (connection.epoch !== epoch)
    throw new LockStoreError('The connection changed before replicas were counted.', true);
  const count = Number(waited[1]);
  const replies = givesNumbersAsText(client) ? withNumbers(answer[1]) : answer[1];
  return count < replicas ? withoutGrants(replies, texts.length, count) : replies;
}

function withoutGrants(replies: unknown, commands: number, count: number): unknown {
  if (typeof replies === 'number') return Array.from({ length: commands }, () => [NOT_REPLICATED, count, 0]).flat();
  if (!Array.isArray(replies)) return replies;
  const marked: unknown[] = [...replies];
  for (let at = 0; at < marked.length; at += 3) {
    if (marked[at] === GRANTED) marked.splice(at, 2, NOT_REPLICATED, count);
  }
  return marked;
}

/** The client follows redirections of single commands only. */
function refreshed(client: RedisClient): Promise<void> {
  return new Promise((resolve) => {
    if (isCluster(client)) client.refreshSlotsCache(() => resolve());
    else resolve();
  });
}
