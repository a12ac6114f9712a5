import { runCleanups } from './cleanup.js';
import { testRedisUrl, useRedis } from './use-redis.js';

describe('useRedis', () => {
  it('sees only its own keys, and removes no others', async () => {
    const bystander = useRedis();
    const redis = useRedis('test:[*?]:');
    await bystander.client.set(`${bystander.prefix}key`, 'stays');
    await redis.client.set(`${redis.prefix}key`, 'goes');

    expect(redis.url).toBe(testRedisUrl());
    expect(await redis.keys()).toEqual(['test:[*?]:key']);
    expect(await bystander.keys()).toEqual([`${bystander.prefix}key`]);
  });

  it('leaves no key behind', async () => {
    const redis = useRedis();
    await redis.client.set(`${redis.prefix}key`, 'goes');

    await runCleanups();

    expect(await useRedis(redis.prefix).keys()).toEqual([]);
  });
});
