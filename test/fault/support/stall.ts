import { setTimeout as sleep } from 'node:timers/promises';

/** The proxy of one server, or the proxies of all. */
interface Way {
  hold(): void;
  resume(): Promise<void>;
}

/** Stops all bytes for `ms`, then resumes. */
export async function stall(way: Way, ms = 150 + Math.random() * 600): Promise<void> {
  way.hold();
  await sleep(ms);
  await way.resume();
}
