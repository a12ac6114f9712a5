import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Ends a hang only: the longest search takes 15 s on a quiet machine. */
export const LIMIT_MS = 600_000;

/** Runs the command line of the model; returns what it prints. Rejects if it reports a violation. */
export async function model(...options: string[]): Promise<string> {
  const args = ['--import', './tools/typescript-loader.mjs', '--disable-warning=ExperimentalWarning'];
  const { stdout } = await run(process.execPath, [...args, 'test/model/run-model.ts', ...options], { cwd: ROOT });
  return stdout;
}
