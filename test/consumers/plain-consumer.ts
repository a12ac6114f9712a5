import { execFile, spawn } from 'node:child_process';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Child } from '../support/child.js';
import type { PackedLibraries } from '../support/pack-library.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const run = promisify(execFile);
const HERE = fileURLToPath(new URL('.', import.meta.url));

interface PlainManifest {
  readonly scripts: Readonly<Record<'start', string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** A running program, which continues when it gets a line. */
export interface Program {
  readonly child: Child;
  continue(): void;
}

/** A fresh program without Nest in a separate folder. npm installs both tarballs, and all other packages. */
export class PlainConsumer {
  private constructor(
    private readonly folder: string,
    private readonly manifest: PlainManifest,
  ) {}

  static async install(name: string, { tarball, cli }: PackedLibraries): Promise<PlainConsumer> {
    const folder = await temporaryFolder(`${name}-`);
    await cp(join(HERE, name), folder, { recursive: true });
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as PlainManifest;
    const packed = { 'distribute-lock': `file:${cli.tarball}`, 'nestjs-distribute-lock': `file:${tarball}` };
    const dependencies = { ...manifest.dependencies, ...packed };
    await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, dependencies }));
    const consumer = new PlainConsumer(folder, manifest);
    await consumer.npm('install', '--strict-peer-deps', '--no-audit', '--no-fund');
    await consumer.npm('run', 'build');
    return consumer;
  }

  /** The packages that npm has installed, with the names of scopes. */
  async packages(): Promise<string[]> {
    return readdir(join(this.folder, 'node_modules'));
  }

  start(env: NodeJS.ProcessEnv): Program {
    const [, script] = this.manifest.scripts.start.split(' ');
    const child = spawn(process.execPath, [script], { cwd: this.folder, env: { ...this.env, ...env } });
    return { child: new Child(child), continue: () => void child.stdin.write('continue\n') };
  }

  /** Runs a command of the installed packages. */
  run(command: string, words: readonly string[], env: NodeJS.ProcessEnv): Child {
    const path = join(this.folder, 'node_modules/.bin', command);
    return new Child(spawn(path, words, { cwd: this.folder, env: { ...this.env, ...env } }));
  }

  /** Runs a command line in the folder. */
  shell(command: string, env: NodeJS.ProcessEnv): Child {
    return new Child(spawn('sh', ['-c', command], { cwd: this.folder, env: { ...this.env, ...env } }));
  }

  /** Without the settings of Jest and of this workspace. */
  private get env(): NodeJS.ProcessEnv {
    const { PATH, HOME, npm_config_cache: cache } = process.env;
    return cache === undefined ? { PATH, HOME } : { PATH, HOME, npm_config_cache: cache };
  }

  private async npm(...words: string[]): Promise<void> {
    try {
      await run('npm', words, { cwd: this.folder, env: this.env, timeout: 240_000 });
    } catch (error) {
      const { message, stdout = '' } = error as Error & { stdout?: string };
      throw new Error(`${message}\n${stdout}`, { cause: error });
    }
  }
}
