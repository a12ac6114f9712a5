import { readFile } from 'node:fs/promises';

import { startRedisServer } from '../support/redis-server.js';
import { SecondProcess } from '../support/second-process.js';

/** A request executes more files than the walk names, such as timers and checks of replies. */
const MOST_FILES = 66;

describe('The walk of docs/internals/architecture.md', () => {
  it('names files that a warm request executes', async () => {
    const text = await readFile('docs/internals/architecture.md', 'utf8');
    const [, walk = ''] = /\n## Follow one request\n([\s\S]*?)\n## /.exec(text) ?? [];
    const steps = walk.split('\n').filter((line) => /^\d+\. /.test(line));
    // Redis executes the rules.
    const named = steps.flatMap((step) => [...step.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file]) => file));
    const inProcess = named.filter((file) => !/^store\/(protocol|memory)\//.test(file));
    expect(new Set(inProcess).size).toBeGreaterThan(15);

    const { url } = await startRedisServer();
    const child = new SecondProcess<{ executed: string[] }>(new URL('./support/walk.child.ts', import.meta.url), {
      LOCK_URL: url,
    });
    const executed = await child.once('executed');
    expect(inProcess.filter((file) => !executed.some((one) => one === file || one.endsWith(`/${file}`)))).toEqual([]);
    expect(executed.length).toBeLessThanOrEqual(MOST_FILES);
  });
});
