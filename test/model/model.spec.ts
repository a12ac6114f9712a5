import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { KINDS } from './config.js';
import { PLANTS } from './plants.mjs';

const run = promisify(execFile);
/** Ends a hang only: the longest search takes 11 s on a quiet machine. */
const LIMIT_MS = 600_000;
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Runs the command line; returns what it prints. Rejects if it reports a violation. */
async function model(...options: string[]): Promise<string> {
  const args = ['--import', './tools/typescript-loader.mjs', '--disable-warning=ExperimentalWarning'];
  const { stdout } = await run(process.execPath, [...args, 'test/model/run-model.ts', ...options], { cwd: ROOT });
  return stdout;
}

describe.each(KINDS)('The rules, with the kind %s', (kind) => {
  it(
    'break no invariant in the first states',
    async () => {
      const searches = (await model('--kind', kind, '--sample')).trim().split('\n');
      expect(searches).toHaveLength(5);
      for (const search of searches) expect(search).toMatch(/^.*: [\d,]{5,} states, .* depth \d+/);
    },
    LIMIT_MS,
  );

  it(
    'break an invariant with each planted change',
    async () => {
      const lines = (await model('--kind', kind, '--plants', '--sample')).trim().split('\n');
      expect(lines).toEqual(
        PLANTS.filter((plant) => plant.kind === kind).map(({ name, invariant }) =>
          expect.stringContaining(`${name}: found by "${invariant}"`),
        ),
      );
    },
    LIMIT_MS,
  );
});

it('prints a violation as a schedule', async () => {
  const text = await model('--plant', 'take-held');
  expect(text).toMatch(
    /VIOLATION: only the owner's token frees a lock.*\n +1\. process A begins to wait with A:1\n +2\. /,
  );
});
