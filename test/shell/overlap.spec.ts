import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { startRedisServer } from '../support/redis-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { APPEND, RunProcess } from './support/run-processes.js';
import { ROUNDS } from './support/rounds.js';

import.meta.jest.setTimeout(900_000);

const PROCESSES = 10;

/** The largest number of commands that worked at the same time, and how many began. */
function overlapIn(text: string): { readonly most: number; readonly begun: number } {
  let [now, most, begun] = [0, 0, 0];
  for (const line of text.trim().split('\n')) {
    const begins = line.startsWith('begin');
    now += begins ? 1 : -1;
    if (begins) begun += 1;
    most = Math.max(most, now);
  }
  return { most, begun };
}

describe('Ten processes that run a command under one key', () => {
  let url: string;
  let folder: string;

  beforeAll(async () => {
    [{ url }, folder] = await Promise.all([startRedisServer(), temporaryFolder('shell-overlap-')]);
  });

  /** Starts all at once, and returns their exit codes. */
  async function race(key: string, file: string, flags: (number: number) => readonly string[]): Promise<unknown[]> {
    await writeFile(file, '');
    const words = ['--', process.execPath, APPEND, file];
    const all = Array.from({ length: PROCESSES }, (_, number) =>
      RunProcess.start(url, ['run', key, '-q', ...flags(number), ...words]),
    );
    const ends = await Promise.all(all.map(({ exited }) => exited));
    expect(all.map(({ output }) => output).join('')).toBe('');
    return ends.map(({ code, signal }) => signal ?? code);
  }

  it('do not overlap, and each of them runs or ends with 75', async () => {
    const file = join(folder, 'exclusive');
    for (let round = 0; round < ROUNDS; round += 1) {
      const codes = await race('job', file, (number) => (number % 2 === 0 ? [] : ['-n']));
      const { most, begun } = overlapIn(await readFile(file, 'utf8'));
      expect(most).toBe(1);
      expect(codes.filter((code) => code === 0)).toHaveLength(begun);
      expect(codes.filter((code) => code === 75)).toHaveLength(PROCESSES - begun);
      // The five that wait have run.
      expect(begun).toBeGreaterThanOrEqual(PROCESSES / 2);
    }
  });

  it('are at most three with three permits', async () => {
    const file = join(folder, 'permits');
    for (let round = 0; round < ROUNDS; round += 1) {
      expect(await race('imports', file, () => ['--permits', '3'])).toEqual(Array.from({ length: PROCESSES }, () => 0));
      const { most, begun } = overlapIn(await readFile(file, 'utf8'));
      expect(most).toBeLessThanOrEqual(3);
      expect(begun).toBe(PROCESSES);
    }
  });
});
