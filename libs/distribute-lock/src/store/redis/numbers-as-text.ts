import { isCluster, type RedisClient } from './redis-client.js';

const NUMBER = /^-?\d{1,16}$/;

/** Whether the application has told its client to give every number as text. */
export function givesNumbersAsText(client: RedisClient): boolean {
  const options = isCluster(client) ? client.options.redisOptions : client.options;
  return options?.stringNumbers === true;
}

/** The answer of a script as other clients give it. None of its texts is a number. */
export function withNumbers(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(withNumbers);
  return typeof reply === 'string' && NUMBER.test(reply) ? Number(reply) : reply;
}
