import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';

import { monotonicMs } from '../support/monotonic.js';
import { startRedisServer } from '../support/redis-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { environment, PROGRAM } from './support/run-processes.js';

import.meta.jest.setTimeout(600_000);

const MOST = 2.2;
/** Pairs of a series; the shortest time of each program counts, because others of the machine only lengthen it. */
const PAIRS = 12;
const MOST_SERIES = 6;
const EMPTY = ['-e', '0'];
/** Most of the start is the code of the library and of ioredis, which Node compiles each time. */
const LIBRARY = ['-e', "require('nestjs-distribute-lock/core')"];

/**
 * The program starts two processes, which need two processors. So the bound grows with the time that two processes of Node at once take
 * longer than one, measured in the same run: 1 when a processor is free, and 2 when none is.
 */
describe('The start of `run`', () => {
  // Node 20 reads such certificates at each start. The program leaves them out where the connection has no TLS.
  it(`takes at most ${MOST} times as long as an empty program where NODE_EXTRA_CA_CERTS is set`, async () => {
    const figures = await compare(EMPTY, { NODE_EXTRA_CA_CERTS: await certificates() });
    expect(figures.ratio).toBeLessThanOrEqual(MOST * figures.slowdown);
  });

  it(`takes at most ${MOST} times as long as a program that only loads the library`, async () => {
    const figures = await compare(LIBRARY, {});
    expect(figures.ratio).toBeLessThanOrEqual(MOST * figures.slowdown);
  });
});

async function compare(base: readonly string[], more: NodeJS.ProcessEnv) {
  const { url } = await startRedisServer();
  const env = { ...environment(url), ...more };
  const time = async (file: string, words: readonly string[]): Promise<number> => {
    const startedAt = monotonicMs();
    const child = spawn(file, words, { env, stdio: 'ignore' });
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect(code).toBe(0);
    return monotonicMs() - startedAt;
  };
  const empty = (): Promise<number> => time(process.execPath, EMPTY);
  const [one, two, other, run]: number[][] = [[], [], [], []];
  const shortest = (times: readonly number[]): number => Math.min(...times);
  const figures = () => ({
    ratio: shortest(run) / shortest(other),
    slowdown: Math.max(1, shortest(two) / shortest(one)),
  });
  for (let series = 0; series < MOST_SERIES && (series === 0 || figures().ratio > MOST); series += 1) {
    for (let pair = 0; pair < PAIRS; pair += 1) {
      one.push(await empty());
      other.push(await time(process.execPath, base));
      run.push(await time(PROGRAM, ['run', 'start', '--', 'true']));
      two.push(Math.max(...(await Promise.all([empty(), empty()]))));
    }
  }
  const { ratio, slowdown } = figures();
  process.stdout.write(
    `run / node ${base.join(' ')}: ${ratio.toFixed(2)}; two at once / one: ${slowdown.toFixed(2)}; ${run.length} pairs\n`,
  );
  return { ratio, slowdown };
}

/** A file with the certificates that Node has itself. */
async function certificates(): Promise<string> {
  const file = join(await temporaryFolder('certificates-'), 'certificates.pem');
  await writeFile(file, rootCertificates.join('\n'));
  return file;
}
