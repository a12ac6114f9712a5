import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onCleanup } from '../support/cleanup.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LIBRARY = join(ROOT, 'libs/distribute-lock');
const CONSUMER = fileURLToPath(new URL('./consumer', import.meta.url));
const NAME = 'nestjs-distribute-lock';

export interface PackageManifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** The library as it would be published, installed in a consumer outside the repository. */
export interface PackedLibrary {
  /** What is in the tarball, sorted. */
  readonly files: readonly string[];
  readonly manifest: PackageManifest;
  /** Compiles the consumer against the packed types, runs it, and answers what it printed. */
  runConsumer(): Promise<string>;
}

export async function packLibrary(): Promise<PackedLibrary> {
  const folder = await mkdtemp(join(tmpdir(), 'packed-library-'));
  onCleanup(() => rm(folder, { recursive: true, force: true }));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: LIBRARY });
  const tarball = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
  if (tarball === undefined) throw new Error(`npm pack made no tarball:\n${stdout}`);

  await cp(CONSUMER, folder, { recursive: true });
  const installed = join(folder, 'node_modules', NAME);
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(folder, tarball), '--strip-components=1', '-C', installed]);
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as PackageManifest;
  // only what the manifest names, so that whatever else is imported does not resolve
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) await link(folder, name);
  return { files: await filesIn(installed), manifest, runConsumer: () => runConsumer(folder) };
}

/** Instead of an install: no registry is asked, and both halves of the application share one Nest. */
async function link(folder: string, name: string): Promise<void> {
  const at = join(folder, 'node_modules', name);
  await mkdir(dirname(at), { recursive: true });
  await symlink(join(ROOT, 'node_modules', name), at, 'dir');
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files
    .map((file) =>
      join(file.parentPath, file.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();
}

async function runConsumer(folder: string): Promise<string> {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  try {
    await run(process.execPath, [compiler, '-p', folder]);
    const { stdout } = await run(process.execPath, [join(folder, 'dist/main.js')], { timeout: 20_000 });
    return stdout;
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string };
    throw new Error(`${message}\n${stdout ?? ''}`, { cause: error });
  }
}
