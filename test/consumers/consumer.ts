import { execFile, spawn, type SpawnOptions } from 'node:child_process';
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Child } from '../support/child.js';
import { onCleanup } from '../support/cleanup.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));

/** The code of docs/guide/testing.md. */
const PASTED_FROM = join(ROOT, 'test/docs/testing');
const PASTED = ['app.module.ts', 'carrier.ts', 'orders.service.ts', 'orders.service.spec.ts'];

/** A running `nest start --watch`, and the file that it watches. */
export interface Watcher {
  readonly child: Child;
  readonly source: string;
  readonly url: string;
}

interface ConsumerManifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
}

/** A fresh application in a separate folder. npm installs the library from its tarball, and all other packages. */
export class Consumer {
  private constructor(
    private readonly folder: string,
    private readonly manifest: ConsumerManifest,
    private readonly redisUrl: string,
  ) {}

  /** Without the settings of Jest and of this workspace. */
  private get env(): NodeJS.ProcessEnv {
    const { PATH, HOME, npm_config_cache: cache } = process.env;
    const own = { PATH, HOME, CI: 'true', REDIS_URL: this.redisUrl };
    return cache === undefined ? own : { ...own, npm_config_cache: cache };
  }

  static async install(name: string, tarball: string, redisUrl: string): Promise<Consumer> {
    const folder = await temporaryFolder(`${name}-`);
    await cp(join(HERE, name), folder, { recursive: true });
    await cp(join(HERE, 'shared'), join(folder, 'src'), { recursive: true });
    await nameDotFiles(folder);
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as ConsumerManifest;
    if (manifest.scripts['test'] === undefined) await rm(join(folder, 'src/scenario.spec.ts'));
    if (manifest.scripts['lint'] === undefined) await rm(join(folder, 'src/hot.ts'));
    else await Promise.all(PASTED.map((file) => cp(join(PASTED_FROM, file), join(folder, 'src/pasted', file))));
    if (manifest.scripts['ticks'] === undefined) await rm(join(folder, 'src/ticks.ts'));
    const dependencies = { ...manifest.dependencies, 'nestjs-distribute-lock': `file:${tarball}` };
    await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, dependencies }));
    const consumer = new Consumer(folder, manifest, redisUrl);
    // `strict-peer-deps`: npm must not violate the peer ranges of the library.
    await consumer.npm('install', '--strict-peer-deps', '--no-audit', '--no-fund');
    return consumer;
  }

  /** Installs another version of a dependency. */
  async add(dependency: string): Promise<void> {
    await this.npm('install', '--save-exact', '--prefer-offline', '--no-audit', '--no-fund', dependency);
  }

  /** How many copies of the package the application has. */
  async copiesOf(name: string): Promise<number> {
    const { stdout } = await run('find', [
      join(this.folder, 'node_modules'),
      '-path',
      `*/node_modules/${name}/package.json`,
    ]);
    return stdout.trim().split('\n').length;
  }

  /** Builds and starts the application; returns its report. */
  async start(): Promise<unknown> {
    await this.npm('run', 'build');
    const lines = (await this.npm('run', '--silent', 'start')).trim().split('\n');
    return JSON.parse(lines.at(-1) ?? '') as unknown;
  }

  /** The report of the built application about a cron job on several instances, if it has one. */
  async ticks(): Promise<unknown> {
    if (this.manifest.scripts['ticks'] === undefined) return undefined;
    const lines = (await this.npm('run', '--silent', 'ticks')).trim().split('\n');
    return JSON.parse(lines.at(-1) ?? '') as unknown;
  }

  /** Runs the tests of the application, if it has any; returns the output of its test runner. */
  async test(): Promise<string | undefined> {
    return this.manifest.scripts['test'] === undefined ? undefined : this.npm('run', '--silent', 'test');
  }

  /** Runs the linter that `nest new` installs on the code of the documents, if the consumer has one. */
  async lint(): Promise<void> {
    if (this.manifest.scripts['lint'] !== undefined) await this.npm('run', '--silent', 'lint');
  }

  /** Starts `nest start --watch`, if the consumer is a starter; it ends with the spec file. */
  async watch(port: number): Promise<Watcher | undefined> {
    if (this.manifest.scripts['lint'] === undefined) return undefined;
    // `deleteOutDir` would delete what an incremental build no longer writes.
    await rm(join(this.folder, 'tsconfig.build.tsbuildinfo'), { force: true });
    const command = [join(this.folder, 'node_modules/.bin/nest'), 'start', '--watch', '--entryFile', 'hot'];
    const env = { ...this.env, PORT: String(port) };
    // A group of processes, because the command leaves the process of the application behind when it ends.
    const options: SpawnOptions = { cwd: this.folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
    const child = new Child(spawn(process.execPath, command, options));
    onCleanup(() => endGroup(child));
    return { child, source: join(this.folder, 'src/hot.ts'), url: `http://127.0.0.1:${port}` };
  }

  private async npm(...words: string[]): Promise<string> {
    try {
      const { stdout, stderr } = await run('npm', words, { cwd: this.folder, env: this.env, timeout: 240_000 });
      return `${stderr}${stdout}`;
    } catch (error) {
      const { message, stdout = '' } = error as Error & { stdout?: string };
      throw new Error(`${message}\n${stdout}`, { cause: error });
    }
  }
}

/** Ends the process with all processes that it started. */
export async function endGroup(child: Child): Promise<void> {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // the group has ended
  }
  await child.exited;
}

/** Configuration files would also apply to this repository, so their names begin with `dot.` here. */
async function nameDotFiles(folder: string): Promise<void> {
  for (const file of await readdir(folder)) {
    if (file.startsWith('dot.')) await rename(join(folder, file), join(folder, file.slice('dot'.length)));
  }
}
