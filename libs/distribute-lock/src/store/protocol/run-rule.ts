import { forgetTime } from './clock.js';
import { forgetCounter } from './fencing-tokens.js';
import { forgetMessages } from './read-write.js';
import { useServer, type Server } from './server.js';
import { ONE_PRIMARY, useSettings, type Settings } from './settings.js';

/** Runs the rule of a script on a server, as EVALSHA does in Redis. Throws the error of a command that is not one of several. */
export function runRule<T>(
  rule: () => T,
  server: Server,
  keys: readonly string[],
  args: readonly string[],
  settings: Settings = ONE_PRIMARY,
): T {
  useSettings(settings);
  forgetTime();
  forgetCounter();
  forgetMessages();
  useServer(server, keys, args);
  return rule();
}
