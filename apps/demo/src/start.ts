import { Starter } from './starter/starter.js';

/** `npm start`: finds a Redis, starts two instances against it, and ends everything together with itself. */
const starter = new Starter(process.env);
let ending: Promise<void> | undefined;

async function end(code: number): Promise<void> {
  ending ??= starter.stop();
  await ending;
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end(0));

try {
  await starter.start();
  await starter.finished();
  await end(1);
} catch (error) {
  // While the demo is being ended, what could not start any more is no news.
  if (ending === undefined) console.error(error instanceof Error ? error.message : error);
  await end(1);
}
