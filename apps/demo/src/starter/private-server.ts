import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const ATTEMPTS = 5;

export interface PrivateServer {
  readonly port: number;
  /** The port of the Cluster bus. */
  readonly busPort: number | undefined;
  readonly child: ChildProcess;
}

export interface PrivateServerOptions {
  /** As on the command line of redis-server. */
  readonly args?: readonly string[];
  readonly sentinel?: boolean;
  readonly clusterNode?: boolean;
}

/** Starts redis-server on a free loopback port, without persistence. Calls `started` for every process at once. */
export async function startServer(
  folder: string,
  started: (child: ChildProcess) => void,
  { args = [], sentinel = false, clusterNode = false }: PrivateServerOptions = {},
): Promise<PrivateServer> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const port = await freePort();
    const busPort = clusterNode ? await freePort() : undefined; // the default, 10,000 above the port, may be invalid
    const dir = join(folder, String(port));
    await mkdir(dir, { recursive: true });
    const where = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'];
    const first = sentinel ? [await sentinelFile(dir), '--sentinel'] : [];
    const bus = busPort === undefined ? [] : ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)];
    const child = spawn('redis-server', [...first, ...where, ...bus, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
    started(child);
    if (await listens(child, sentinel ? 'Sentinel ID is' : 'Ready to accept connections'))
      return { port, busPort, child };
  }
  throw new Error('redis-server is on the PATH, but it does not start.');
}

/** A loopback port that is free at this moment. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** False when the server ended at once, for example because another process took its port. */
async function listens(child: ChildProcess, ready: string): Promise<boolean> {
  const { stdout } = child;
  child.once('error', () => undefined); // its output ends then
  if (stdout === null) return false;
  // The output of the server proves that it listens; another process could respond on the port.
  for await (const line of createInterface({ input: stdout })) {
    if (!line.includes(ready)) continue;
    stdout.resume();
    return true;
  }
  return false;
}

/** A Sentinel stores its state in a file, and does not start without one. */
async function sentinelFile(dir: string): Promise<string> {
  const file = join(dir, 'sentinel.conf');
  await writeFile(file, '');
  return file;
}
