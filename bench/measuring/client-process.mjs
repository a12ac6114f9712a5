import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { cores, pinned } from './pinning.mjs';

const MAIN = fileURLToPath(new URL('client-process.main.mjs', import.meta.url));

/** A client process with one adapter and the calls of one workload, from the view of the parent. */
export class ClientProcess {
  nextId = 0;
  pending = new Map();

  constructor(process) {
    this.process = process;
    process.on('message', (message) => this.answered(message));
    process.once('exit', (code, signal) => {
      const error = new Error(`A client process has ended (${signal ?? code})`);
      for (const { reject } of this.pending.values()) reject(error);
    });
  }

  /** @param options - options of the adapter */
  static async start(workload, adapter, server, options = {}) {
    const args = ['--expose-gc', MAIN, workload, adapter, server.url, JSON.stringify(options)];
    const child = spawn(...pinned(cores.client, process.execPath, args), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const started = new ClientProcess(child);
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error(`${adapter} did not start`))),
    ]);
    return started;
  }

  /** Makes a call of the workload in the process. */
  call(name, args = {}) {
    return new Promise((resolve, reject) => {
      const id = (this.nextId += 1);
      this.pending.set(id, { resolve, reject });
      this.process.send({ id, name, args });
    });
  }

  async end() {
    this.pending.clear();
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }

  answered({ id, result, error }) {
    const call = this.pending.get(id);
    this.pending.delete(id);
    if (error !== undefined) call?.reject(new Error(error));
    else call?.resolve(result);
  }
}
