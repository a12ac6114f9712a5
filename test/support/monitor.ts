import { once } from 'node:events';
import { connect } from 'node:net';

import { onCleanup } from './cleanup.js';
import { eventually } from './eventually.js';

export interface MonitoredCommand {
  /** Its address, or `lua` for a command of a script. */
  readonly client: string;
  readonly args: readonly string[];
}

export interface Monitor {
  /** All commands since the start, in their order. */
  commands(): MonitoredCommand[];
  close(): void;
}

/**
 * MONITOR on a plain socket. The client of ioredis takes a line that arrives together with the reply to MONITOR for the reply to another
 * command.
 */
export async function startMonitor(port: number): Promise<Monitor> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  let text = '';
  socket.on('data', (part: string) => (text += part));
  socket.on('error', () => {}); // a test may end the server
  onCleanup(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write('MONITOR\r\n');
  await eventually(() => expect(text).toContain('+OK\r\n'));
  return {
    commands: () => text.split('\r\n').slice(1, -1).map(commandOf),
    close: () => void socket.destroy(),
  };
}

/** A line such as `+1700000000.123456 [0 127.0.0.1:5000] "get" "a \"quoted\" key"`. */
function commandOf(line: string): MonitoredCommand {
  const [, client = ''] = /^\+\S+ \[\d+ (\S+)\]/.exec(line) ?? [];
  const args = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, arg]) => arg);
  return { client, args };
}
