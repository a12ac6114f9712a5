import type { Server } from './target.js';

/** A reading of the clock of a server. */
interface Reading {
  /** The clock of the server, less the monotonic clock of this process, in the middle of the round trip. */
  readonly againstMonotonicMs: number;
  /** The clock of the server, less the wall clock of this host. */
  readonly offsetMs: number;
  /** The offset is exact to this time. */
  readonly exactToMs: number;
}

const TRIES = 5;

/** Compares the clocks of the servers with those of this host, at the start of the checks and at their end. */
export class ClockWatch {
  private readonly first = new Map<Server, Reading | Error>();
  private readonly startedAt = performance.now();

  async start(servers: readonly Server[]): Promise<void> {
    await Promise.all(
      servers.map(async (server) => {
        this.first.set(server, await read(server).catch((error: Error) => error));
      }),
    );
  }

  get watchedMs(): number {
    return performance.now() - this.startedAt;
  }

  /** @throws the error with which the server refused TIME */
  offset(server: Server): Reading {
    const reading = this.first.get(server);
    if (reading === undefined || reading instanceof Error) throw reading ?? new Error('The clock was not read.');
    return reading;
  }

  /** By how much the clock of the server was set since the start, and how exact that is. */
  async step(server: Server): Promise<{ readonly stepMs: number; readonly exactToMs: number }> {
    const first = this.offset(server);
    const last = await read(server);
    return {
      stepMs: last.againstMonotonicMs - first.againstMonotonicMs,
      exactToMs: first.exactToMs + last.exactToMs,
    };
  }
}

/** The shortest of some round trips: a pause of this process makes one long, but not its clocks wrong. */
async function read({ client }: Server): Promise<Reading> {
  let best: Reading | undefined;
  for (let i = 0; i < TRIES; i += 1) {
    const sentAt = performance.now();
    const wall = Date.now();
    const [seconds, microseconds] = (await client.time()).map(Number);
    const roundTripMs = performance.now() - sentAt;
    const serverMs = seconds * 1_000 + microseconds / 1_000;
    // This process may have paused anywhere in the round trip, also between its two clocks.
    const exactToMs = roundTripMs + 1;
    if (best !== undefined && best.exactToMs <= exactToMs) continue;
    best = {
      againstMonotonicMs: serverMs - (sentAt + roundTripMs / 2),
      offsetMs: serverMs - (wall + roundTripMs / 2),
      exactToMs,
    };
  }
  return best!;
}
