import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onCleanup } from '../support/cleanup.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const APPLICATIONS = fileURLToPath(new URL('./applications', import.meta.url));
const NAME = 'nestjs-distribute-lock';
/** Of what the applications import, that which is neither a dependency nor a peer of the library. */
const OF_THE_APPLICATION = ['@nestjs/platform-express'];

interface PackageManifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** The library as it is published, installed in a folder outside the repository. */
export interface PackedLibrary {
  /** Compiles the application of that name, if it is TypeScript, against the packed types; runs it; answers what it printed. */
  runApplication(file: string): Promise<unknown>;
}

/** Without a registry: test/consumers has real installs. Here all halves of an application share one Nest. */
export async function packLibrary(): Promise<PackedLibrary> {
  const folder = await mkdtemp(join(tmpdir(), 'packed-library-'));
  onCleanup(() => rm(folder, { recursive: true, force: true }));
  const packed = await run(process.execPath, [join(ROOT, 'tools/pack-library.mjs'), folder], { cwd: ROOT });
  const { tarball } = JSON.parse(packed.stdout) as { tarball: string };

  await cp(APPLICATIONS, folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const installed = join(folder, 'node_modules', NAME);
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed]);
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as PackageManifest;
  // only what the manifest names, so that whatever else is imported does not resolve
  const named = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  for (const name of [...named, ...OF_THE_APPLICATION]) await link(folder, name);
  return { runApplication: (file) => runApplication(folder, file) };
}

async function link(folder: string, name: string): Promise<void> {
  const at = join(folder, 'node_modules', name);
  await mkdir(dirname(at), { recursive: true });
  await symlink(join(ROOT, 'node_modules', name), at, 'dir');
}

async function runApplication(folder: string, file: string): Promise<unknown> {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const script = file.endsWith('.ts') ? join('dist', file.replace(/ts$/, 'js')) : file;
  try {
    if (script !== file) await run(process.execPath, [compiler, '-p', folder]);
    const { stdout } = await run(process.execPath, [join(folder, script)], { timeout: 20_000 });
    return JSON.parse(stdout) as unknown;
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string };
    throw new Error(`${message}\n${stdout ?? ''}`, { cause: error });
  }
}
