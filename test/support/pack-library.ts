import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from './temporary-folder.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Two seconds suffice on an idle machine. */
const PACKED_WITHIN_MS = 60_000;

/** The tarball of the last build, as it is published. It is deleted after the spec file. Uses no registry. */
export async function packLibrary(): Promise<string> {
  const folder = await temporaryFolder('packed-library-');
  const command = [join(ROOT, 'tools/pack-library.mjs'), folder];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: ROOT, timeout: PACKED_WITHIN_MS });
  return (JSON.parse(stdout) as { tarball: string }).tarball;
}
