import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { tellParent, whenParentIsGone } from '../process/parent.js';
import { startServer } from './private-server.js';
import { startTopology, topologyOf } from './topology.js';

/**
 * A process that only keeps private Redis servers and ends them with the starter, even a killed one: redis-server would
 * not notice that. A single server that ends is part of the demo.
 */
export interface KeptRedis {
  /** A Redis URL, or the connection of a topology as JSON. */
  readonly connection: string;
}

const PATIENCE_MS = 2_000;

const servers: ChildProcess[] = [];
let folder: string | undefined;
let ending = false;

async function end(code: number): Promise<void> {
  if (ending) return;
  ending = true;
  await Promise.all(servers.map(endProcess));
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  process.exit(code);
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  child.kill('SIGCONT'); // a paused server would not end
  const insist = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  await exited;
  clearTimeout(insist);
}

function started(child: ChildProcess): void {
  servers.push(child);
}

async function keep(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'nestjs-distribute-lock-demo-'));
  try {
    const within = folder;
    const connection = await startTopology(topologyOf(process.env.DEMO_TOPOLOGY), (options) =>
      startServer(within, started, options),
    );
    if (servers.length === 1) servers[0].once('exit', () => void end(1));
    await tellParent<KeptRedis>({ type: 'ready', ready: { connection } });
  } catch (error) {
    if (ending) return;
    await tellParent({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
    await end(1);
  }
}

/** Stops the servers for some time; their clients get no answer, as with a hanging host. */
function pause(ms: number): void {
  for (const server of servers) server.kill('SIGSTOP');
  setTimeout(() => servers.forEach((server) => server.kill('SIGCONT')), ms);
}

process.on('message', ({ pauseMs }: { readonly pauseMs?: number }) => {
  if (pauseMs !== undefined) pause(pauseMs);
});
process.once('SIGTERM', () => void end(0));
whenParentIsGone(() => void end(0));
await keep();
