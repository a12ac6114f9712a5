import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { tellParent, whenParentIsGone } from '../process/parent.js';

/**
 * A process that does nothing but keep a private redis-server and end it together with the starter, even one that was
 * killed: redis-server itself would not notice.
 */
export interface KeptRedis {
  readonly port: number;
}

const ATTEMPTS = 5;
const PATIENCE_MS = 2_000;

let redis: ChildProcess | undefined;
let folder: string | undefined;
let ending = false;

async function end(code: number): Promise<void> {
  if (ending) return;
  ending = true;
  if (redis !== undefined) await endProcess(redis);
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  process.exit(code);
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const insist = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  await exited;
  clearTimeout(insist);
}

/** Starts a server without persistence; `undefined` when it ended at once, such as when its port was taken meanwhile. */
async function startRedis(port: number, dir: string): Promise<ChildProcess | undefined> {
  const where = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir];
  const child = spawn('redis-server', [...where, '--save', '', '--appendonly', 'no'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  redis = child;
  child.once('error', () => undefined); // its output ends then, which is dealt with below
  // The server says itself that it listens: asking the port could be answered by somebody else.
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.includes('Ready to accept connections')) continue;
    child.stdout.resume();
    return child;
  }
  return undefined;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function keep(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'nestjs-distribute-lock-demo-'));
  for (let attempt = 1; attempt <= ATTEMPTS && !ending; attempt++) {
    const port = await freePort();
    const child = await startRedis(port, folder);
    if (child === undefined) continue;
    child.once('exit', () => void end(1));
    await tellParent<KeptRedis>({ type: 'ready', ready: { port } });
    return;
  }
  if (ending) return;
  await tellParent({ type: 'failed', message: 'redis-server is on the PATH, but it does not start.' });
  await end(1);
}

process.once('SIGTERM', () => void end(0));
whenParentIsGone(() => void end(0));
await keep();
