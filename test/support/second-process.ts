import { fork } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Child } from './child.js';
import { within } from './eventually.js';

/** Ends a hang only, before the limit of the test does, which would not name the message. */
const SENDS_WITHIN_MS = 50_000;

/** Data by the names of messages. */
export type Messages = Record<string, unknown>;

const LOADER = new URL('../../tools/typescript-loader.mjs', import.meta.url);

/** Options of Node with which a script and the library run from their sources. */
const FROM_SOURCE = ['--import', LOADER.href, '--disable-warning=ExperimentalWarning'];

/** ... and with which it may collect garbage. */
export const COLLECTING = ['--expose-gc', ...FROM_SOURCE];

/**
 * Runs a script (.ts or .mjs) in a separate process, which uses `parentProcess()`. It ends with the spec file at the
 * latest, and when the channel closes.
 */
export function startProcess<Received extends Messages = Messages, Sent extends Messages = Messages>(
  script: URL | string,
  env: NodeJS.ProcessEnv = {},
): SecondProcess<Received, Sent> {
  return new SecondProcess(script, env);
}

export class SecondProcess<Received extends Messages = Messages, Sent extends Messages = Messages> extends Child {
  private readonly received = new EventEmitter();
  /** Messages that arrived before a listener was added. */
  private readonly early: { name: string; data: unknown }[] = [];
  private readonly channel;

  constructor(script: URL | string, env: NodeJS.ProcessEnv, execArgv: readonly string[] = FROM_SOURCE) {
    const channel = fork(script instanceof URL ? fileURLToPath(script) : script, {
      env: { ...process.env, ...env },
      execArgv: [...execArgv],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    super(channel);
    this.channel = channel;
    channel.on('message', (message) => {
      const { name, data } = message as { name: string; data: unknown };
      if (!this.received.emit(name, data)) this.early.push({ name, data });
    });
  }

  send<Name extends keyof Sent & string>(name: Name, data: Sent[Name]): void {
    this.channel.send({ name, data });
  }

  /** Calls `listener` for every message of that name, including earlier ones. */
  on<Name extends keyof Received & string>(name: Name, listener: (data: Received[Name]) => void): void {
    this.received.on(name, listener);
    for (let early = this.takeEarly(name); early !== undefined; early = this.takeEarly(name))
      listener(early.data as Received[Name]);
  }

  /** Resolves with the next message of that name, or an earlier one. Rejects when the process ends without it. */
  async once<Name extends keyof Received & string>(name: Name, withinMs = SENDS_WITHIN_MS): Promise<Received[Name]> {
    const early = this.takeEarly(name);
    if (early !== undefined) return early.data as Received[Name];
    const next = new Promise<Received[Name]>((resolve) => void this.received.once(name, resolve));
    const end = this.exited.then(({ code, signal }) => {
      throw new Error(`The process ended (${signal ?? code}) without the message "${name}":\n${this.output}`);
    });
    return within(withinMs, `the message "${name}"`, Promise.race([next, end]));
  }

  private takeEarly(name: string): { data: unknown } | undefined {
    const at = this.early.findIndex((message) => message.name === name);
    return at < 0 ? undefined : this.early.splice(at, 1)[0];
  }
}
