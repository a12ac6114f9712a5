import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Child } from '../support/child.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const APPLICATIONS = fileURLToPath(new URL('./applications', import.meta.url));
const NAME = 'nestjs-distribute-lock';
/** Packages that the applications import, and that are neither dependencies nor peers of the library. */
const OF_THE_APPLICATION = ['@nestjs/platform-express'];
/** Optional peers that every application with Nest has. */
const OF_NEST = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];

interface PackageManifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** The library as it is published, installed in a folder outside the repository. */
export interface PackedLibrary {
  /**
   * Installs a package for the application, and for the library only if its manifest names it, like strict package
   * managers.
   */
  install(name: string): Promise<void>;
  /**
   * Compiles the application of that name against the packed types if it is TypeScript, runs it, and returns its
   * output.
   */
  runApplication(file: string): Promise<unknown>;
  /** Starts the application of that name, which is JavaScript; it ends with the spec file. */
  startApplication(file: string, env: NodeJS.ProcessEnv): Child;
}

/**
 * Installs a tarball without a registry; test/consumers has real installs. All parts of an application share one Nest.
 * @param besides - further packages, which npm does not install with the library
 */
export async function installLibrary(
  tarball: string,
  besides: readonly string[] = [...OF_NEST, ...OF_THE_APPLICATION],
): Promise<PackedLibrary> {
  const home = await temporaryFolder('packed-library-');
  const folder = join(home, 'application');
  await cp(APPLICATIONS, folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  // A separate folder, as with pnpm: the library cannot load packages of the application.
  const place = join(home, 'library');
  const installed = join(place, 'node_modules', NAME);
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed]);
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as PackageManifest;
  const { dependencies, peerDependencies, peerDependenciesMeta } = manifest;
  const named = Object.keys({ ...dependencies, ...peerDependencies });
  const install = async (name: string): Promise<void> => {
    for (const at of named.includes(name) ? [folder, place] : [folder]) await link(at, name);
  };
  const needed = named.filter((name) => peerDependenciesMeta[name]?.optional !== true);
  for (const name of [...needed, ...besides]) await install(name);
  await symlink(installed, join(folder, 'node_modules', NAME), 'dir');
  return {
    install,
    runApplication: (file) => runApplication(folder, file),
    startApplication: (file, env) =>
      new Child(
        spawn(process.execPath, [join(folder, file)], {
          env: { ...process.env, ...env },
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      ),
  };
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
