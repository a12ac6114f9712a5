import { startProcess } from '../support/second-process.js';
import { startRedisServer } from '../support/redis-server.js';

describe('recipe: a program without Nest', () => {
  it('ends by itself, and a second run at the same time waits for the first one', async () => {
    const { url } = await startRedisServer();
    const program = new URL('without-nest/nightly-report.child.ts', import.meta.url);
    const runs = [1, 2].map(() => startProcess(program, { REDIS_URL: url }));

    const exits = await Promise.all(runs.map((run) => run.exited));
    expect(exits.map(({ code }) => code)).toEqual([0, 0]);
    for (const { output } of runs) expect(output).toMatch(/begun[^]*done/);
  });
});
