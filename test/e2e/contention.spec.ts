import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { type DemoInstance, startTwoDemos } from './support/demo-instance.js';
import type { Answer } from './support/http.js';

// The tests start and end processes, and the machine may be busy.
import.meta.jest.setTimeout(60_000);

describe('two instances of the demo', () => {
  const redis = useRedis();
  let alice: DemoInstance;
  let bob: DemoInstance;

  beforeAll(async () => {
    [alice, bob] = await startTwoDemos({ REDIS_URL: redis.url, DEMO_PREFIX: redis.prefix });
  });

  /** Resolves once the lock is held. */
  const held = (key: string) => eventually(async () => expect(await redis.client.exists(redis.prefix + key)).toBe(1));

  const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).sort((a, b) => a - b);

  it('process one of two simultaneous requests for a channel and refuse the other at once', async () => {
    const body = { channel: 'web', workMs: 4_000 };

    const posts = [alice.post('/post-test', body), bob.post('/post-test', body)];
    const first = await Promise.race(posts);
    const answers = await Promise.all(posts);

    expect(statuses(answers)).toEqual([201, 409]);
    const [done, refused] = answers.toSorted((a, b) => a.status - b.status) as [Answer, Answer];
    expect(done.tookMs).toBeGreaterThan(3990);
    expect(done.body).toMatchObject({ channel: 'web', fencingToken: expect.any(Number), heldMs: expect.any(Number) });
    expect(first).toBe(refused);
    expect(refused.body).toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  });

  it('refuse every request while one works', async () => {
    const client = new AbortController();
    const work = alice.post('/post-test', { channel: 'fast', workMs: 60_000 }, { signal: client.signal });
    await held('post_test_fast');
    for (let sent = 0; sent < 20; sent += 1)
      expect((await bob.post('/post-test', { channel: 'fast' })).status).toBe(409);
    client.abort();
    await expect(work).rejects.toThrow('aborted');
  });

  it('process different channels at the same time', async () => {
    const client = new AbortController();
    const red = alice.post('/post-test', { channel: 'red', workMs: 60_000 }, { signal: client.signal });
    await held('post_test_red');

    expect((await bob.post('/post-test', { channel: 'blue', workMs: 0 })).status).toBe(201);

    client.abort();
    await expect(red).rejects.toThrow('aborted');
  });

  it('keep the rendered key out of the refusal', async () => {
    const work = alice.post('/post-test', { channel: 'private-channel', workMs: 4_000 });
    await held('post_test_private-channel');

    const refused = await bob.post('/post-test', { channel: 'private-channel' });

    expect(refused.status).toBe(409);
    expect(refused.text).not.toContain('private-channel');
    expect((await work).status).toBe(201);
  });

  it('wait for their turn where the route is configured so, and the fencing tokens rise', async () => {
    const first = alice.post('/post-test', { channel: 'turn', workMs: 1000 });
    await held('post_test_turn');

    const second = await bob.post('/post-test/wait', { channel: 'turn', workMs: 0 });

    expect(second.status).toBe(201);
    expect((await first).status).toBe(201);
    expect(second.body['fencingToken']).toBeGreaterThan((await first).body['fencingToken'] as number);
  });

  it.each([
    ['an undecorated handler that calls LockService', '/reports/7', 'report:7'],
    ['an undecorated handler that calls a locked service', '/orders/7/settle', 'order:7'],
  ])('respond 409 from %s', async (_, path, key) => {
    const work = alice.post(path, { workMs: 4_000 });
    await held(key);

    const refused = await bob.post(path, { workMs: 0 });

    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect((await work).status).toBe(201);
  });

  it('pass on the error of the work and release the lock', async () => {
    const failed = await alice.post('/orders/8/settle', { workMs: 0, declined: true });

    expect(failed.status).toBe(422);
    expect(failed.body['message']).toContain('declined');
    expect(await redis.client.exists(`${redis.prefix}order:8`)).toBe(0);
    expect((await bob.post('/orders/8/settle', { workMs: 0 })).status).toBe(201);
  });

  it('respect a foreign client that follows the SET NX PX pattern', async () => {
    await redis.client.set(`${redis.prefix}post_test_foreign`, 'x', 'PX', 30_000, 'NX');
    expect((await alice.post('/post-test', { channel: 'foreign', workMs: 0 })).status).toBe(409);

    await redis.client.del(`${redis.prefix}post_test_foreign`);

    expect((await alice.post('/post-test', { channel: 'foreign', workMs: 0 })).status).toBe(201);
  });

  it('respond with the value of onContended where the route has one', async () => {
    expect((await alice.post('/click', {})).body).toMatchObject({ accepted: true });

    const second = await bob.post('/click', {});

    expect(second.status).toBe(200);
    expect(second.body).toEqual({ accepted: false, message: 'Please do not click so often.' });
  });

  it('refuse a write with an older fencing token than an accepted one', async () => {
    const written = await alice.post('/fenced-write', { amount: 10 });
    expect(written.status).toBe(201);

    const late = await alice.post('/fenced-write', { amount: 10, staleToken: true });

    expect(late.status).toBe(412);
    expect(late.body).toMatchObject({ code: 'STALE_FENCING_TOKEN' });
    expect(late.body['fencingToken']).toBeLessThan(late.body['largestSeen'] as number);
    const after = await alice.post('/fenced-write', { amount: 1 });
    expect(after.body['balance']).toBe((written.body['balance'] as number) + 11);
  });

  it('log that an interceptor wraps the lock, and the lock wraps the handler', async () => {
    await alice.post('/post-test', { channel: 'order-of-things', workMs: 0 });

    const steps = ['before the lock', 'under the lock', 'after the release'];
    const seen = alice.output.split('\n').flatMap((line) => steps.filter((step) => line.includes(step)));
    expect(seen.slice(-3)).toEqual(steps);
  });
});
