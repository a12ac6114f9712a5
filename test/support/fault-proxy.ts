import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { onCleanup } from './cleanup.js';
import type { Direction, Faults } from './faulty-direction.js';
import { freePort } from './free-port.js';
import { ProxiedConnection } from './proxied-connection.js';

/** Starts a TCP proxy on a free loopback port that forwards all bytes to `targetPort` until a fault is set. */
export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const proxy = new FaultProxy(targetPort);
  await proxy.listen();
  return proxy;
}

/** The network between client and server. A test switches its faults. */
export class FaultProxy {
  port = 0;
  /** Number of accepted connections. */
  accepted = 0;
  private readonly faults: Faults = { held: new Set(), delayMs: 0, jitterMs: 0, swallow: undefined };
  private readonly connections = new Set<ProxiedConnection>();
  private readonly forget = onCleanup(() => this.stop());
  private server: Server | undefined;

  constructor(private targetPort: number) {}

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get open(): number {
    return this.connections.size;
  }

  async listen(): Promise<void> {
    this.port ||= await freePort();
    this.server = createServer((client) => this.accept(client)).listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  /** Leads new connections to another server, as an endpoint does after a planned failover. Open ones stay where they are. */
  leadTo(targetPort: number): void {
    this.targetPort = targetPort;
  }

  /** Resets every connection; new ones are accepted. */
  cut(): void {
    for (const connection of this.connections) connection.reset();
  }

  /** Half-open: no byte passes in one direction or both, no connection closes, and new ones are accepted but silent. */
  hold(direction?: Direction): void {
    for (const one of direction === undefined ? (['toServer', 'toClient'] as const) : [direction])
      this.faults.held.add(one);
  }

  /** Delays all bytes by `ms`, plus or minus up to `jitterMs`, and keeps the order in each direction. */
  delay(ms: number, jitterMs = 0): void {
    this.faults.delayMs = ms;
    this.faults.jitterMs = jitterMs;
  }

  /**
   * Loses the reply to the next request that matches `request`, and resets the connection. The server has executed the
   * request. Resolves when the reply is lost.
   */
  swallowNextReply(request: RegExp = /[^]/): Promise<void> {
    return new Promise((swallowed) => {
      this.faults.swallow = { request, swallowed };
    });
  }

  /** Refuses new connections; open ones stay open. */
  refuse(): void {
    this.server?.close();
    this.server = undefined;
  }

  /** Ends all faults: held bytes pass, and new connections are accepted. */
  async resume(): Promise<void> {
    this.faults.held.clear();
    this.faults.delayMs = this.faults.jitterMs = 0;
    this.faults.swallow = undefined;
    for (const connection of this.connections) connection.resume();
    if (this.server === undefined) await this.listen();
  }

  async stop(): Promise<void> {
    this.forget();
    this.refuse();
    this.cut();
  }

  private accept(client: Socket): void {
    this.accepted += 1;
    const server = connect(this.targetPort, '127.0.0.1');
    const connection = new ProxiedConnection(client, server, this.faults, () => this.connections.delete(connection));
    this.connections.add(connection);
  }
}
