import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

import { onCleanup } from '../../support/cleanup.js';
import { eventually } from '../../support/eventually.js';
import { freePort } from '../../support/free-port.js';
import { TappedConnection, type Role } from './tapped-connection.js';

/** Starts a proxy on a free loopback port that forwards all bytes to `targetPort`; it closes with the spec file. */
export async function startSocketProxy(targetPort: number): Promise<SocketProxy> {
  const proxy = new SocketProxy(targetPort);
  await proxy.listen();
  return proxy;
}

/**
 * A proxy between one client and one server. It distinguishes connections by their roles, and each has separate faults.
 */
export class SocketProxy {
  port = 0;
  /** Every accepted connection, in order. */
  readonly connections: TappedConnection[] = [];
  /** Prepares the faults of a new connection. */
  prepare: (next: TappedConnection) => void = () => {};
  /** Receives every request, its words separated by spaces. */
  onRequest: (request: string) => void = () => {};
  private readonly forget = onCleanup(() => this.stop());
  private listener: Server | undefined;
  private unresponsive = false;

  constructor(private readonly targetPort: number) {}

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Requests that arrived from the client so far. */
  get requests(): number {
    return this.connections.reduce((sum, { requests }) => sum + requests, 0);
  }

  async listen(): Promise<void> {
    this.port ||= await freePort();
    this.listener = createServer((client) => this.accept(client)).listen(this.port, '127.0.0.1');
    await once(this.listener, 'listening');
  }

  /** The open connections: all, or those with the role. */
  open(role?: Role): TappedConnection[] {
    return this.connections.filter((one) => one.open && (role === undefined || one.roles.has(role)));
  }

  /** Resolves with the newest open connection with the role, as soon as there is one. */
  connection(role: Role): Promise<TappedConnection> {
    return eventually(() => {
      const found = this.open(role).at(-1);
      if (found === undefined) throw new Error(`No connection is open for ${role}`);
      return found;
    }, 10_000);
  }

  /** The server stops responding to this client: no byte passes, and new connections are accepted but silent. */
  silence(): void {
    this.unresponsive = true;
    for (const connection of this.open()) connection.halfOpen();
  }

  /** The server is down: connections are reset, and new ones are refused. */
  refuse(): void {
    this.listener?.close();
    this.listener = undefined;
    this.cut();
  }

  cut(): void {
    for (const connection of this.connections) connection.cut();
  }

  /** Accepts connections again, and delivers the held bytes. */
  async resume(): Promise<void> {
    this.unresponsive = false;
    for (const connection of this.connections) connection.resume();
    if (this.listener === undefined) await this.listen();
  }

  async stop(): Promise<void> {
    this.forget();
    this.refuse();
  }

  private accept(client: Socket): void {
    const connection = new TappedConnection(client, connect(this.targetPort, '127.0.0.1'), (request) =>
      this.onRequest(request),
    );
    this.connections.push(connection);
    this.prepare(connection);
    if (this.unresponsive) connection.halfOpen();
  }
}

/** Makes new connections lose the reply to a matching request, until one has lost it. */
export async function loseFirstReply(ways: readonly SocketProxy[], request: RegExp): Promise<void> {
  const lost = new Promise<void>((resolve) => {
    for (const way of ways) way.prepare = (next) => void next.loseReply(request).then(resolve);
  });
  await lost;
  for (const way of ways) way.prepare = () => {};
}
