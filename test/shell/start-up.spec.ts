import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';

import { startRedisServer } from '../support/redis-server.js';
import { environment, PROGRAM } from './support/run-processes.js';

import.meta.jest.setTimeout(600_000);

const MOST = 2.2;
const PAIRS = 12;
/** A series that other processes of the machine disturb says nothing about the program. */
const MOST_SERIES = 12;

describe('The start of `run`', () => {
  it(`takes at most ${MOST} times as long as that of Node`, async () => {
    const { url } = await startRedisServer();
    const env = environment(url);
    const time = (file: string, words: readonly string[]): number => {
      const startedAt = performance.now();
      expect(spawnSync(file, words, { env, stdio: 'ignore' }).status).toBe(0);
      return performance.now() - startedAt;
    };
    const series = (): number => {
      // One after the other, so that both meet the same machine.
      const pairs = Array.from({ length: PAIRS }, () => [
        time(process.execPath, ['-e', '0']),
        time(PROGRAM, ['run', 'start', '--', 'true']),
      ]);
      const shortest = (at: number): number => Math.min(...pairs.map((pair) => pair[at]));
      return shortest(1) / shortest(0);
    };
    const ratios: number[] = [];
    do ratios.push(series());
    while (Math.min(...ratios) > MOST && ratios.length < MOST_SERIES);
    process.stdout.write(`run / node -e 0: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}\n`);
    expect(Math.min(...ratios)).toBeLessThanOrEqual(MOST);
  });
});
