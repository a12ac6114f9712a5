import { setTimeout as sleep } from 'node:timers/promises';

/** A way to one server, or the ways to all. */
interface Way {
  hold(): void;
  resume(): Promise<void>;
}

/** Nothing passes for so long; then all is well again. */
export async function stall(way: Way, ms = 150 + Math.random() * 600): Promise<void> {
  way.hold();
  await sleep(ms);
  await way.resume();
}
