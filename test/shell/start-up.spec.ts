import { spawn } from 'node:child_process';

import { monotonicMs } from '../support/monotonic.js';
import { startRedisServer } from '../support/redis-server.js';
import { environment, PROGRAM } from './support/run-processes.js';

import.meta.jest.setTimeout(600_000);

const MOST = 2.2;
/** Pairs of a series; the shortest time of each program counts, because others of the machine only lengthen it. */
const PAIRS = 12;
const MOST_SERIES = 6;
const NODE = ['-e', '0'];
/** Most of the start is the code of the library and of ioredis, which Node compiles each time. */
const LIBRARY = ['-e', "require('nestjs-distribute-lock/core')"];

/**
 * The program starts two processes, which need two processors. So the bound grows with the time that two processes of Node at once take
 * longer than one, measured in the same run: 1 when a processor is free, and 2 when none is.
 */
describe('The start of `run`', () => {
  it(`takes at most ${MOST} times as long as that of a program that only loads the library`, async () => {
    const { url } = await startRedisServer();
    const time = async (file: string, words: readonly string[]): Promise<number> => {
      const startedAt = monotonicMs();
      const child = spawn(file, words, { env: environment(url), stdio: 'ignore' });
      const code = await new Promise((resolve) => child.once('exit', resolve));
      expect(code).toBe(0);
      return monotonicMs() - startedAt;
    };
    const [one, two, library, run]: number[][] = [[], [], [], []];
    const shortest = (times: readonly number[]): number => Math.min(...times);
    const ratio = (): number => shortest(run) / shortest(library);
    const slowdown = (): number => Math.max(1, shortest(two) / shortest(one));
    for (let series = 0; series < MOST_SERIES && (series === 0 || ratio() > MOST); series += 1) {
      for (let pair = 0; pair < PAIRS; pair += 1) {
        one.push(await time(process.execPath, NODE));
        library.push(await time(process.execPath, LIBRARY));
        run.push(await time(PROGRAM, ['run', 'start', '--', 'true']));
        two.push(Math.max(...(await Promise.all([time(process.execPath, NODE), time(process.execPath, NODE)]))));
      }
    }
    const ofNode = shortest(run) / shortest(one);
    const figures = `run / library: ${ratio().toFixed(2)}; run / node -e 0: ${ofNode.toFixed(2)}; two at once / one: ${slowdown().toFixed(2)}`;
    process.stdout.write(`${figures}; ${run.length} pairs\n`);
    expect(ratio()).toBeLessThanOrEqual(MOST * slowdown());
  });
});
