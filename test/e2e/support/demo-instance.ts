import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';

import { Child } from '../../support/child.js';
import { within } from '../../support/eventually.js';
import { type Answer, get, post, type PostOptions, put } from './http.js';

const MAIN = fileURLToPath(new URL('../../../apps/demo/dist/main.js', import.meta.url));
const STARTS_WITHIN_MS = 50_000;

/** Environment variables with the settings of the demo. */
export type DemoEnv = Readonly<Record<string, string>>;

/** Starts one instance of the built demo in a separate process, on a port that the system chooses. */
export async function startDemo(env: DemoEnv): Promise<DemoInstance> {
  const instance = `test-${randomBytes(4).toString('hex')}`;
  const child = fork(MAIN, {
    env: { ...process.env, NO_COLOR: '1', PORT: '0', HOST: '127.0.0.1', DEMO_INSTANCE: instance, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const demo = new DemoInstance(child, instance);
  const early = demo.exited.then(() => Promise.reject(new Error(`The demo ended early:\n${demo.output}`)));
  const started = Promise.race([startReport(child), early]);
  const report = await within(STARTS_WITHIN_MS, 'the start of the demo', started);
  early.catch(() => undefined); // it ends eventually
  if (report.ready === undefined) throw new Error(`The demo did not start: ${report.message}`);
  demo.port = report.ready.port;
  await demo.assertAnswers();
  return demo;
}

interface StartReport {
  readonly type: string;
  readonly message?: string;
  readonly ready?: { readonly port: number };
}

/** The report about the start. A job of the demo may report before it. */
function startReport(child: ChildProcess): Promise<StartReport> {
  return new Promise((resolve) => {
    child.on('message', (report: StartReport) => {
      if (report.type === 'ready' || report.type === 'failed') resolve(report);
    });
  });
}

/** Two instances of the demo, like two hosts of one service. */
export async function startTwoDemos(env: DemoEnv): Promise<readonly [DemoInstance, DemoInstance]> {
  return Promise.all([startDemo(env), startDemo(env)]);
}

/** A demo process and its address. */
export class DemoInstance extends Child {
  port = 0;

  constructor(
    child: ReturnType<typeof fork>,
    readonly name: string,
  ) {
    super(child);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get(path: string): Promise<Answer> {
    return get(this.url + path);
  }

  post(path: string, body: unknown, options?: PostOptions): Promise<Answer> {
    return post(this.url + path, body, options);
  }

  put(path: string, body: unknown): Promise<Answer> {
    return put(this.url + path, body);
  }

  /** Asserts that this process responds on the port, and no other. */
  async assertAnswers(): Promise<void> {
    const { body } = await this.get('/health/live');
    if (body['instance'] !== this.name) throw new Error(`Another process responds on port ${this.port}`);
  }
}
