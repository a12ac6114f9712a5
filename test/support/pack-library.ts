import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from './temporary-folder.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Two seconds suffice on an idle machine. */
const PACKED_WITHIN_MS = 60_000;

/** The tarballs of the last build. */
export interface PackedLibraries {
  readonly tarball: string;
  /** That of the package `distribute-lock`. */
  readonly cli: { readonly tarball: string };
}

/** The tarballs of the last build, as they are published. They are deleted after the spec file. Uses no registry. */
export async function packLibraries(): Promise<PackedLibraries> {
  const folder = await temporaryFolder('packed-library-');
  const command = [join(ROOT, 'tools/pack-library.mjs'), folder];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: ROOT, timeout: PACKED_WITHIN_MS });
  return JSON.parse(stdout) as PackedLibraries;
}

/** The tarball of `nestjs-distribute-lock`. */
export async function packLibrary(): Promise<string> {
  return (await packLibraries()).tarball;
}
