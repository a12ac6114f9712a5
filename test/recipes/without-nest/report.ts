import { setTimeout as delay } from 'node:timers/promises';

/** The work of the program. */
export async function writeReport(_fencingToken: number | undefined, _signal: AbortSignal): Promise<void> {
  console.log('begun');
  await delay(200);
  console.log('done');
}
