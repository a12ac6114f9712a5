import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

import { onCleanup } from '../../support/cleanup.js';

/** The first bytes of a published message on the wire, in RESP3 and RESP2. */
const MESSAGE = /^[>*]3\r\n\$7\r\nmessage\r\n/;

export interface MessageEater {
  readonly port: number;
  readonly url: string;
  /** Number of discarded messages. */
  readonly eaten: number;
}

/** A TCP proxy that discards every published message and forwards all other bytes. */
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
      // An idle waiter receives no other bytes, so a message is a separate chunk.
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
