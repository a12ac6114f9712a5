import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The range is below the ports of outgoing connections (Linux from 32,768, others from 49,152). So no client takes the
 * port of a restarting server, and no client connects to itself. Each worker draws from a separate share, so servers of
 * other workers do not conflict either.
 */
const FIRST = 12_000;
const SHARE = 2_500;
const SHARES = 8;
const from = FIRST + SHARE * (Number(process.env['JEST_WORKER_ID'] ?? 0) % SHARES);
const issued = new Set<number>();

/** Returns a loopback port that was free just before, and never returns it again. Another process may still take it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(from, from + SHARE);
    if (issued.has(port)) continue;
    issued.add(port); // before the probe, because other calls run during it
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
