import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onCleanup } from './cleanup.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Two seconds suffice on an idle machine. */
const PACKED_WITHIN_MS = 60_000;

/** The tarball of the last build, as it is published. It ends with the spec file. Uses no registry. */
export async function packLibrary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'packed-library-'));
  onCleanup(() => rm(folder, { recursive: true, force: true }));
  const command = [join(ROOT, 'tools/pack-library.mjs'), folder];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: ROOT, timeout: PACKED_WITHIN_MS });
  return (JSON.parse(stdout) as { tarball: string }).tarball;
}
