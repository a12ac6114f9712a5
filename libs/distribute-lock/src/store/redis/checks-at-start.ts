import type { Advice, Layout } from './layout.js';
import { evictionAdvice } from './redis-admin.js';
import type { RedisClient } from './redis-client.js';

/** One check of a server. It passes if there is no advice. */
export type CheckAtStart = (layout: Layout, client: RedisClient) => Promise<readonly Advice[]>;

/** What each start checks in the background. They are rows of `distribute-lock doctor`, by these names. */
export const CHECKS_AT_START = {
  layout: async (layout) => layout.advice(),
  'eviction policy': (_, client) => evictionAdvice(client),
} satisfies Readonly<Record<string, CheckAtStart>>;
