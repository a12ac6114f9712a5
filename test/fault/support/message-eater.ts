import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

import { onCleanup } from '../../support/cleanup.js';

/** A published message on the wire, in RESP3 and RESP2, and its text. */
const MESSAGE = /[>*]3\r\n\$7\r\nmessage\r\n\$\d+\r\n[^\r]*\r\n\$\d+\r\n([^\r]*)\r\n/g;

export interface MessageEater {
  readonly port: number;
  readonly url: string;
  /** Number of discarded messages about locks. */
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
      // A message is shorter than a packet, so it is never cut.
      const others = chunk.toString('latin1').replace(MESSAGE, (_, text: string) => {
        if (!text.startsWith('i ')) eaten += 1;
        return '';
      });
      client.write(Buffer.from(others, 'latin1'));
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
