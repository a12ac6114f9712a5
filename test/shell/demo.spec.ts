import { join } from 'node:path';

import { createLocks, type OpenedLocks } from 'nestjs-distribute-lock/core';

import { type DemoInstance, startDemo } from '../e2e/support/demo-instance.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { begun, LONG_MS, RunProcess, WORKING } from './support/run-processes.js';

import.meta.jest.setTimeout(300_000);

const CHANNEL = 'shell';
/** The key of `POST /post-test` of the demo. */
const KEY = `post_test_${CHANNEL}`;
const CATALOG = 'catalog:7';

describe('The shell and the demo application', () => {
  let url: string;
  let folder: string;
  let demo: DemoInstance;
  let observer: OpenedLocks;

  beforeAll(async () => {
    [{ url }, folder] = await Promise.all([startRedisServer(), temporaryFolder('shell-demo-')]);
    demo = await startDemo({ REDIS_URL: url });
    observer = await createLocks({ connection: url });
    onCleanup(() => observer.close());
  }, 120_000);

  const run = (key: string, flags: readonly string[], ...command: readonly string[]): RunProcess =>
    RunProcess.start(url, ['run', key, ...flags, '--', ...command]);
  const working = async (key: string, flags: readonly string[], name: string): Promise<RunProcess> => {
    const file = join(folder, name);
    const program = run(key, flags, process.execPath, WORKING, file);
    await begun(file);
    return program;
  };
  const state = (key: string, facts: object): Promise<void> =>
    eventually(async () => expect(await observer.inspect(key)).toMatchObject(facts), LONG_MS);

  it('exclude each other while the shell holds the key', async () => {
    const holder = await working(KEY, [], 'exclusive');
    const refused = await demo.post('/post-test', { channel: CHANNEL, workMs: 0 });
    expect(refused).toMatchObject({ status: 409, body: { code: 'LOCK_CONTENDED' } });
    const waits = demo.post('/post-test/wait', { channel: CHANNEL, workMs: 0 });
    await state(KEY, { held: true, waiting: 1 });
    await holder.kill('SIGTERM');
    expect(await waits).toMatchObject({ status: 201 });
  });

  it('exclude each other while the demo holds the key', async () => {
    const works = demo.post('/post-test', { channel: CHANNEL, workMs: 8_000 });
    await state(KEY, { held: true });
    expect(await run(KEY, ['-n'], 'true').exited).toEqual({ code: 75, signal: null });
    const next = run(KEY, [], 'true');
    await state(KEY, { held: true, waiting: 1 });
    expect(await works).toMatchObject({ status: 201 });
    expect(await next.exited).toEqual({ code: 0, signal: null });
  });

  it('read together, and a write of the demo waits for a read of the shell', async () => {
    const reader = await working(CATALOG, ['-s'], 'read');
    expect(await demo.get('/catalog/7?workMs=0')).toMatchObject({ status: 200 });
    const writes = demo.put('/catalog/7', { workMs: 0 });
    await state(CATALOG, { held: true, kind: 'read', waiting: 1 });
    await reader.kill('SIGTERM');
    expect(await writes).toMatchObject({ status: 200 });
  });

  it('do not read in the shell while the demo writes', async () => {
    const writes = demo.put('/catalog/7', { workMs: 8_000 });
    await state(CATALOG, { held: true, kind: 'exclusive' });
    expect(await run(CATALOG, ['-s', '-n'], 'true').exited).toEqual({ code: 75, signal: null });
    const reader = run(CATALOG, ['-s'], 'true');
    await state(CATALOG, { held: true, waiting: 1 });
    expect(await writes).toMatchObject({ status: 200 });
    expect(await reader.exited).toEqual({ code: 0, signal: null });
  });
});
