import type { Redis } from 'ioredis';

import { eventually } from '../../support/eventually.js';

/**
 * Makes the server reply `BUSY`, with a script that does not end. Resolves when it does so, with a function that kills the
 * script and resolves with its error.
 */
export async function beginLongScript(redis: Redis): Promise<() => Promise<string>> {
  await redis.config('SET', 'lua-time-limit', '50');
  const [runner, control] = [redis.duplicate(), redis.duplicate()];
  await control.ping(); // A busy server accepts no new client.
  const ended = runner.eval('while true do end', 0).catch(String);
  await eventually(() => expect(control.ping()).rejects.toThrow('BUSY'));
  return async () => {
    await control.script('KILL');
    for (const client of [runner, control]) client.disconnect();
    return String(await ended);
  };
}
