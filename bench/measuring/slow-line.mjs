import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { cores, pinned } from './pinning.mjs';

const MAIN = fileURLToPath(new URL('slow-line.main.mjs', import.meta.url));
const LOADER = new URL('../../tools/typescript-loader.mjs', import.meta.url);

/** A server behind the proxy of the fault tests, which adds a fixed time to each round trip. */
export class SlowLine {
  constructor(process, port) {
    this.process = process;
    this.url = `redis://127.0.0.1:${port}`;
  }

  static async to(server, { roundTripMs }) {
    const { port } = new URL(server.url);
    const from = ['--import', LOADER.href, '--disable-warning=ExperimentalWarning'];
    const args = [...from, MAIN, port, String(roundTripMs / 2)];
    const child = spawn(...pinned(cores.server, process.execPath, args), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const [ready] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error('The slow line did not start'))),
    ]);
    return new SlowLine(child, ready.port);
  }

  async end() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }
}
