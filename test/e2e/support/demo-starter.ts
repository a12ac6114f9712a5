import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Child, type ChildExit } from '../../support/child.js';
import { onCleanup } from '../../support/cleanup.js';
import { eventually, within } from '../../support/eventually.js';
import { redisServerBinary } from '../../support/redis-binary.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import type { DemoEnv } from './demo-instance.js';
import { descendants, runs } from './processes.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const START = join(ROOT, 'apps/demo/dist/start.js');
const STARTS_WITHIN_MS = 50_000;
const ENDS_WITHIN_MS = 15_000;

export interface StarterOptions {
  readonly env?: DemoEnv;
  /** Uses `npm start`, as in the README, without the build, which is up to date. */
  readonly npm?: boolean;
  /** The value of `--topology`. */
  readonly topology?: string;
  /** Hides every `redis-server` from it. */
  readonly withoutRedisServer?: boolean;
}

/** Starts the starter on ports that the system chooses, with a separate folder for temporary files. */
export async function launchStarter(options: StarterOptions = {}): Promise<DemoStarter> {
  const folder = await temporaryFolder('demo-starter-');
  return new DemoStarter(folder, options);
}

/** The starter process, which starts all other processes of the demo. */
export class DemoStarter extends Child {
  /** Every process that was ever a descendant of the starter. */
  private readonly seen = new Set<number>();

  constructor(
    private readonly folder: string,
    { env, npm = false, topology, withoutRedisServer = false }: StarterOptions,
  ) {
    const options = topology === undefined ? [] : ['--topology', topology];
    const [command, args] = npm
      ? ['npm', ['start', '--ignore-scripts', '--', ...options]]
      : [process.execPath, [START, ...options]];
    const path = withoutRedisServer ? folder : `${dirname(redisServerBinary())}:${process.env['PATH']}`;
    super(
      spawn(command, args, {
        cwd: ROOT,
        env: { ...process.env, NO_COLOR: '1', PORT: '0', REDIS_URL: '', TMPDIR: folder, ...env, PATH: path },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true, // a separate process group, as in a terminal
      }),
    );
    this.watchProcesses();
  }

  /** Resolves after the banner. */
  async ready(): Promise<this> {
    await within(STARTS_WITHIN_MS, 'the start of the demo', this.printed('Ctrl-C ends it'));
    this.running();
    return this;
  }

  /** Addresses of the instances, from the banner. */
  get urls(): string[] {
    return [...this.output.matchAll(/instance \w: (\S+)/g)].map(([, url]) => url ?? '');
  }

  /** Sends the signal to every process of the group at once, like a terminal. */
  async pressCtrlC(): Promise<ChildExit> {
    process.kill(-this.pid, 'SIGINT');
    return this.exited;
  }

  /** The pids of its current descendants. */
  running(): number[] {
    const pids = descendants(this.pid);
    for (const pid of pids) this.seen.add(pid);
    return pids;
  }

  /** Rejects when a process or a temporary file of the demo is left after the time limit. */
  async assertNothingLeft(): Promise<void> {
    await eventually(() => expect(this.left()).toEqual([]), ENDS_WITHIN_MS);
    // npm and node keep caches there
    const files = (await readdir(this.folder)).filter((name) => name.includes('distribute-lock'));
    expect(files).toEqual([]);
  }

  private watchProcesses(): void {
    const watch = setInterval(() => this.running(), 50);
    void this.exited.then(() => clearInterval(watch));
    // A starter that fails its test may leave children behind, which must not outlive the tests.
    onCleanup(() => this.left().forEach((pid) => process.kill(pid, 'SIGKILL')));
  }

  private left(): number[] {
    return [...this.seen].filter(runs);
  }
}
