import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Child } from './child.js';
import { debianBinary } from './debian-binary.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { temporaryFolder } from './temporary-folder.js';

/** Starts HAProxy in TCP mode in front of these ports. Clients reach the first one; it ends with the spec file. */
export async function startHaproxy(...targets: readonly number[]): Promise<Haproxy> {
  const folder = await temporaryFolder('haproxy-');
  const proxy = new Haproxy(await freePort(), await freePort(), targets);
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, proxy.configuration());
  const child = new Child(spawn(debianBinary('haproxy'), ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] }));
  await eventually(async () => {
    if (!child.alive) throw new Error(`HAProxy has ended:\n${child.output}`);
    await proxy.command('show info');
  });
  return proxy;
}

/** HAProxy before one or more servers, of which one gets all connections. */
export class Haproxy {
  constructor(
    readonly port: number,
    private readonly adminPort: number,
    private readonly targets: readonly number[],
  ) {}

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** @internal */
  configuration(): string {
    return [
      'global',
      `  stats socket ipv4@127.0.0.1:${this.adminPort} level admin`,
      'defaults',
      '  mode tcp',
      '  timeout connect 1s',
      '  timeout client 1h',
      '  timeout server 1h',
      'frontend redis',
      `  bind 127.0.0.1:${this.port}`,
      '  default_backend primaries',
      'backend primaries',
      ...this.targets.map((port, i) => `  server s${i} 127.0.0.1:${port}${i === 0 ? '' : ' disabled'}`),
      '',
    ].join('\n');
  }

  /** Sends new connections to another target, and closes those to the present one, as a failed health check does. */
  async failOverTo(target: number): Promise<void> {
    await this.command(`set server primaries/s${target} state ready`);
    for (let i = 0; i < this.targets.length; i += 1) {
      if (i === target) continue;
      await this.command(`set server primaries/s${i} state maint`);
      await this.command(`shutdown sessions server primaries/s${i}`);
    }
  }

  /** Runs a command of the administration socket. */
  async command(line: string): Promise<string> {
    const socket = connect(this.adminPort, '127.0.0.1');
    await once(socket, 'connect');
    socket.end(`${line}\n`);
    return text(socket);
  }
}
