import type { Socket } from 'node:net';
import { FaultyDirection, type Direction, type Faults } from './faulty-direction.js';

/** The connection of one client, and the connection of the proxy to the server. */
export class ProxiedConnection {
  private readonly directions: Record<Direction, FaultyDirection>;
  private swallowed: (() => void) | undefined;

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly faults: Faults,
    private readonly closed: () => void,
  ) {
    this.directions = {
      toServer: new FaultyDirection(server, faults, 'toServer'),
      toClient: new FaultyDirection(client, faults, 'toClient'),
    };
    client.on('data', (chunk) => this.request(chunk));
    server.on('data', (chunk) => this.reply(chunk));
    this.endsWith(client, 'toServer');
    this.endsWith(server, 'toClient');
  }

  /** Resets both connections, as a crash or a firewall does. */
  reset(): void {
    for (const direction of Object.values(this.directions)) direction.stop();
    resetOrDestroy(this.client);
    resetOrDestroy(this.server);
    this.closed();
  }

  resume(): void {
    for (const direction of Object.values(this.directions)) direction.drain();
  }

  private request(chunk: Buffer): void {
    const { swallow } = this.faults;
    if (swallow?.request.test(chunk.toString('latin1')) === true) {
      this.faults.swallow = undefined;
      this.swallowed = swallow.swallowed;
    }
    this.directions.toServer.push(chunk);
  }

  private reply(chunk: Buffer): void {
    if (this.swallowed === undefined) return this.directions.toClient.push(chunk);
    this.reset();
    this.swallowed();
  }

  /** Forwards the end of one side like bytes: late when delayed, never when held. */
  private endsWith(side: Socket, towards: Direction): void {
    side.setNoDelay(true);
    side.on('error', () => {}); // 'close' follows
    side.on('close', () => {
      this.directions[towards].push(undefined);
      if (this.client.destroyed && this.server.destroyed) this.closed();
    });
  }
}

/** Node does not release a socket that is reset after `end()`, and loops when the process should exit. */
function resetOrDestroy(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
