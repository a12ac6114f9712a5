import type { Layout } from './layout.js';
import { evictionAdvice } from './redis-admin.js';
import type { RedisClient } from './redis-client.js';

/** One check of a server. It returns sentences for the operator, of which the last one is the remedy, or none. */
export type CheckAtStart = (layout: Layout, client: RedisClient) => Promise<readonly string[]>;

/** What each start checks in the background. They are rows of `distribute-lock doctor`, by these names. */
export const CHECKS_AT_START = {
  layout: async (layout) => layout.advice(),
  eviction: evictionAdvice,
} satisfies Readonly<Record<string, CheckAtStart>>;
