import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onCleanup } from './cleanup.js';

/** A new folder outside the repository, which is deleted after the spec file. */
export async function temporaryFolder(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  onCleanup(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
