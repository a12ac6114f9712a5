import { parseArgs } from 'node:util';

import { Starter } from './starter/starter.js';
import { topologyOf } from './starter/topology.js';

/**
 * `npm start`: finds a Redis, starts two instances with it, and ends all of them with itself.
 * `npm start -- --topology sentinel|cluster|quorum` starts that kind of Redis first.
 */
let starter: Starter | undefined;
let ending: Promise<void> | undefined;

async function end(code: number): Promise<void> {
  ending ??= starter?.stop() ?? Promise.resolve();
  await ending;
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end(0));

try {
  const { topology } = parseArgs({ options: { topology: { type: 'string' } } }).values;
  starter = new Starter(process.env, topologyOf(topology));
  await starter.start();
  await starter.finished();
  await end(1);
} catch (error) {
  // A process that fails to start during the shutdown is not reported.
  if (ending === undefined) console.error(error instanceof Error ? error.message : error);
  await end(1);
}
