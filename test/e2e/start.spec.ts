import { once } from 'node:events';
import { createServer } from 'node:net';

import { eventually, within } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { useRedis } from '../support/use-redis.js';
import { launchStarter } from './support/demo-starter.js';
import { get, post } from './support/http.js';

const ENDS_WITHIN_MS = 15_000;

// The tests start and end processes, and the machine may be busy.
import.meta.jest.setTimeout(60_000);

describe('npm start', () => {
  const redis = useRedis();
  const shared = { REDIS_URL: redis.url, DEMO_PREFIX: redis.prefix };

  it('starts a private redis-server and two instances, and SIGTERM to npm ends them all', async () => {
    const demo = await launchStarter({ npm: true });
    await demo.ready();
    expect(demo.output).toContain('a private redis-server on 127.0.0.1:');
    const [alice, bob] = demo.urls as [string, string];
    const answers = await Promise.all(
      [alice, bob].map((url) => post(`${url}/post-test`, { channel: 'web', workMs: 4_000 })),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409]);

    await within(ENDS_WITHIN_MS, 'the end of npm start', demo.kill('SIGTERM'));

    await demo.assertNothingLeft();
  });

  it('ends at once with Ctrl-C during a request, which gets an error', async () => {
    const demo = await launchStarter({ npm: true });
    await demo.ready();
    const work = post(`${demo.urls[0]}/post-test`, { channel: 'web', workMs: 60_000 });
    await demo.printed('under the lock');

    await within(ENDS_WITHIN_MS, 'the end of npm start', demo.pressCtrlC());

    expect((await work).status).toBe(503);
    await demo.assertNothingLeft();
  });

  it('leaves no process behind when the starter is killed', async () => {
    const demo = await launchStarter();
    await demo.ready();
    expect(demo.running()).toHaveLength(4); // two instances, redis-server and its keeper

    demo.kill('SIGKILL').catch(() => undefined);

    await demo.assertNothingLeft();
  });

  it('leaves no process behind when it is ended during its start', async () => {
    const demo = await launchStarter();
    await eventually(() => expect(demo.running()).not.toEqual([]));

    await within(ENDS_WITHIN_MS, 'the end of the starter', demo.kill('SIGTERM'));

    await demo.assertNothingLeft();
  });

  it('uses the Redis of REDIS_URL, and starts one instance on request', async () => {
    const demo = await launchStarter({ env: { ...shared, DEMO_INSTANCES: '1' } });
    await demo.ready();

    expect(demo.urls).toHaveLength(1);
    expect(demo.output).toContain(`the Redis of REDIS_URL (${new URL(redis.url).host})`);
    expect(await demo.kill('SIGTERM')).toMatchObject({ code: 0 });
    await demo.assertNothingLeft();
  });

  it('falls back to one process with both instances and its memory without any Redis, and reports that', async () => {
    const demo = await launchStarter({ withoutRedisServer: true });
    await demo.ready();

    const [alice, bob] = demo.urls as [string, string];
    expect(demo.output).toContain('the memory of one process');
    expect((await get(`${alice}/health`)).body).toMatchObject({ instance: 'A', locks: 'memory' });
    expect((await get(`${bob}/health`)).body).toMatchObject({ instance: 'B', locks: 'memory' });
    const answers = await Promise.all(
      [alice, bob].map((url) => post(`${url}/post-test`, { channel: 'web', workMs: 4_000 })),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409]);
    await demo.kill('SIGTERM');
    await demo.assertNothingLeft();
  });

  it('reports that Redis cannot be reached, without the password', async () => {
    const demo = await launchStarter({ env: { REDIS_URL: 'redis://:hush-hush@127.0.0.1:1/0' } });

    const { code } = await within(ENDS_WITHIN_MS, 'the end of the starter', demo.exited);

    expect(code).toBe(1);
    expect(demo.output).toContain('REDIS_URL');
    expect(demo.output).not.toContain('hush-hush');
    expect(demo.output).not.toMatch(/^\s+at /m);
  });

  it('reports that a port is in use, and ends the processes that it has started', async () => {
    // The second instance uses the next port, which must not be in use by a client.
    const port = await freePort();
    const taken = createServer().listen(port, '127.0.0.1');
    await once(taken, 'listening');
    const demo = await launchStarter({ env: { PORT: String(port) } });

    const { code } = await within(ENDS_WITHIN_MS, 'the end of the starter', demo.exited);
    taken.close();

    expect(code).toBe(1);
    expect(demo.output).toContain(`Cannot listen on port ${port} of 127.0.0.1: it is already in use`);
    await demo.assertNothingLeft();
  });

  it.each([
    ['PORT', 'many'],
    ['DEMO_INSTANCES', '3'],
    ['DEMO_WORK_MS', '-1'],
  ])('rejects %s=%s', async (name, value) => {
    const demo = await launchStarter({ env: { ...shared, [name]: value } });

    const { code } = await within(ENDS_WITHIN_MS, 'the end of the starter', demo.exited);

    expect(code).toBe(1);
    expect(demo.output).toContain(`${name} is "${value}"`);
  });
});
