import '../../tools/typescript-loader.mjs';

/** Runs before the first spec: finds or starts the Redis of the tests, and passes its URL to the workers. */
export default async function setUp() {
  const { obtainTestRedis } = await import('./redis-source.ts');
  const startedAt = performance.now();
  const redis = await obtainTestRedis();
  process.env.TEST_REDIS_URL = redis.url;
  globalThis.testRedis = redis;
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    process.once(signal, () => void redis.stop().finally(() => process.exit(code)));
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stderr.write(`tests: Redis is ${redis.origin} (${seconds} s)\n`);
}
