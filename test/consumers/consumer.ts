import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onCleanup } from '../support/cleanup.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));

interface ConsumerManifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
}

/** The library as it is published. */
export async function packLibrary(): Promise<string> {
  const folder = await temporaryFolder('consumers-');
  const { stdout } = await run(process.execPath, [join(ROOT, 'tools/pack-library.mjs'), folder], { cwd: ROOT });
  return (JSON.parse(stdout) as { tarball: string }).tarball;
}

/** A fresh application in a separate folder. npm installs the library from its tarball, and all other packages. */
export class Consumer {
  private constructor(
    private readonly folder: string,
    private readonly manifest: ConsumerManifest,
    private readonly redisUrl: string,
  ) {}

  static async install(name: string, tarball: string, redisUrl: string): Promise<Consumer> {
    const folder = await temporaryFolder(`${name}-`);
    await cp(join(HERE, name), folder, { recursive: true });
    await cp(join(HERE, 'shared'), join(folder, 'src'), { recursive: true });
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as ConsumerManifest;
    if (manifest.scripts['test'] === undefined) await rm(join(folder, 'src/scenario.spec.ts'));
    const dependencies = { ...manifest.dependencies, 'nestjs-distribute-lock': `file:${tarball}` };
    await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, dependencies }));
    const consumer = new Consumer(folder, manifest, redisUrl);
    // `strict-peer-deps`: npm must not violate the peer ranges of the library.
    await consumer.npm('install', '--strict-peer-deps', '--prefer-offline', '--no-audit', '--no-fund');
    return consumer;
  }

  /** Installs another version of a dependency. */
  async add(dependency: string): Promise<void> {
    await this.npm('install', '--save-exact', '--prefer-offline', '--no-audit', '--no-fund', dependency);
  }

  /** Builds and starts the application; returns its report. */
  async start(): Promise<unknown> {
    await this.npm('run', 'build');
    const lines = (await this.npm('run', '--silent', 'start')).trim().split('\n');
    return JSON.parse(lines.at(-1) ?? '') as unknown;
  }

  /** Runs the tests of the application, if it has any; returns the output of its test runner. */
  async test(): Promise<string | undefined> {
    return this.manifest.scripts['test'] === undefined ? undefined : this.npm('run', '--silent', 'test');
  }

  private async npm(...words: string[]): Promise<string> {
    // without the settings of Jest and of this workspace
    const { PATH, HOME, npm_config_cache: cache } = process.env;
    const env = {
      PATH,
      HOME,
      CI: 'true',
      REDIS_URL: this.redisUrl,
      ...(cache === undefined ? {} : { npm_config_cache: cache }),
    };
    try {
      const { stdout, stderr } = await run('npm', words, { cwd: this.folder, env, timeout: 240_000 });
      return `${stderr}${stdout}`;
    } catch (error) {
      const { message, stdout = '' } = error as Error & { stdout?: string };
      throw new Error(`${message}\n${stdout}`, { cause: error });
    }
  }
}

async function temporaryFolder(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  onCleanup(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
