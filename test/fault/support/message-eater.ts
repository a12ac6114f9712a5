import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

import { onCleanup } from '../../support/cleanup.js';

/** How a published message begins on the wire, in RESP3 and RESP2. */
const MESSAGE = /^[>*]3\r\n\$7\r\nmessage\r\n/;

export interface MessageEater {
  readonly port: number;
  readonly url: string;
  /** How many messages were lost. */
  readonly eaten: number;
}

/** A TCP proxy on which every published message is lost, and nothing else. */
export async function startMessageEater(targetPort: number): Promise<MessageEater> {
  let eaten = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ]) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
    }
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      // A waiter is idle, so a message for it comes alone.
      if (MESSAGE.test(chunk.toString('latin1'))) eaten += 1;
      else client.write(chunk);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onCleanup(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get eaten() {
      return eaten;
    },
  };
}
