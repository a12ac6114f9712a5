import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { onCleanup } from './cleanup.js';
import type { Direction, Faults } from './faulty-lane.js';
import { freePort } from './free-port.js';
import { ProxiedConnection } from './proxied-connection.js';

/** Starts a TCP proxy on a free loopback port that passes everything on to `targetPort`, until told otherwise. */
export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const proxy = new FaultProxy(targetPort);
  await proxy.listen();
  return proxy;
}

/** The network between client and server, with its faults at the push of a button. */
export class FaultProxy {
  port = 0;
  /** Connections that were ever accepted. */
  accepted = 0;
  private readonly faults: Faults = { held: new Set(), delayMs: 0, jitterMs: 0, swallow: undefined };
  private readonly connections = new Set<ProxiedConnection>();
  private readonly forget = onCleanup(() => this.stop());
  private server: Server | undefined;

  constructor(private readonly targetPort: number) {}

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

  /** Resets every connection; new ones are welcome. */
  cut(): void {
    for (const connection of this.connections) connection.reset();
  }

  /** Half-open: nothing passes any more (in one direction, or both), nothing closes, new connections are accepted and stay mute. */
  hold(direction?: Direction): void {
    for (const one of direction === undefined ? (['toServer', 'toClient'] as const) : [direction])
      this.faults.held.add(one);
  }

  /** Everything arrives `ms` later, give or take up to `jitterMs`, each direction of a connection in its order. */
  delay(ms: number, jitterMs = 0): void {
    this.faults.delayMs = ms;
    this.faults.jitterMs = jitterMs;
  }

  /**
   * Loses the reply to the next request that matches `request`, and with it the connection, as TCP does: the server has done
   * what it was asked, and nobody hears of it. Resolves when that has happened.
   */
  swallowNextReply(request: RegExp = /[^]/): Promise<void> {
    return new Promise((swallowed) => {
      this.faults.swallow = { request, swallowed };
    });
  }

  /** Nobody listens on the port any more; connections that are open stay. */
  refuse(): void {
    this.server?.close();
    this.server = undefined;
  }

  /** All is well again: what was held passes, new connections are accepted. */
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
