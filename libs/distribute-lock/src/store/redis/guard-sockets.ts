import type { Redis } from 'ioredis';

/**
 * Listens for every error of the client's sockets. A TLS socket may emit a second error while the first one closes it. The
 * client listens for one error only, so the second one would be thrown as an uncaught exception.
 */
export function guardSockets(client: Redis): void {
  let guarded: unknown;
  client.on('error', () => {
    const { stream } = client as { readonly stream?: Redis['stream'] };
    if (stream === guarded) return;
    guarded = stream;
    stream?.on('error', () => undefined);
  });
}
