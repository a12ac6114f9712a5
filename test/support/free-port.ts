import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below those that a system gives to outgoing connections (Linux from 32 768, others from 49 152): no client takes the port
 * of a server that is down for a moment, and none that tries to reach it is connected with itself. Nor does a server of another
 * worker, as each draws from a share of its own.
 */
const FIRST = 12_000;
const SHARE = 2_500;
const SHARES = 8;
const from = FIRST + SHARE * (Number(process.env['JEST_WORKER_ID'] ?? 0) % SHARES);
const asked = new Set<number>();

/** A loopback port that nobody listened on a moment ago, and never the same again; another process may still take it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(from, from + SHARE);
    if (asked.has(port)) continue;
    asked.add(port); // before the look at it, during which others ask as well
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
