import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

import { onCleanup } from '../cleanup.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { type Direction, DIRECTIONS, ProxiedConnection, type Role } from './proxied-connection.js';

/** Starts a proxy on a free loopback port that forwards all bytes to `targetPort` until a fault is set; it closes with the spec file. */
export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const proxy = new FaultProxy(targetPort);
  await proxy.listen();
  return proxy;
}

/** The network between clients and one server. Faults apply to all connections, or to one connection by its role. */
export class FaultProxy {
  port = 0;
  /** Every accepted connection, in order. */
  readonly connections: ProxiedConnection[] = [];
  /** Prepares the faults of a new connection. */
  prepare: (next: ProxiedConnection) => void = () => {};
  /** Receives every request, its words separated by spaces. */
  onRequest: (request: string) => void = () => {};
  private readonly held = new Set<Direction>();
  private delayMs = 0;
  private jitterMs = 0;
  private swallow: { readonly request: RegExp; readonly swallowed: () => void } | undefined;
  private readonly forget = onCleanup(() => this.stop());
  private listener: Server | undefined;

  constructor(private targetPort: number) {}

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Requests that arrived from clients so far. */
  get requests(): number {
    return this.connections.reduce((sum, { requests }) => sum + requests, 0);
  }

  async listen(): Promise<void> {
    this.port ||= await freePort();
    this.listener = createServer((client) => this.accept(client)).listen(this.port, '127.0.0.1');
    await once(this.listener, 'listening');
  }

  /** The open connections: all, or those with the role. */
  open(role?: Role): ProxiedConnection[] {
    return this.connections.filter((one) => one.open && (role === undefined || one.roles.has(role)));
  }

  /** Resolves with the newest open connection with the role, as soon as there is one. */
  connection(role: Role): Promise<ProxiedConnection> {
    return eventually(() => {
      const found = this.open(role).at(-1);
      if (found === undefined) throw new Error(`No connection is open for ${role}`);
      return found;
    }, 10_000);
  }

  /** Leads new connections to another server, as an endpoint does after a planned failover. Open ones stay where they are. */
  leadTo(targetPort: number): void {
    this.targetPort = targetPort;
  }

  /** Resets every connection; new ones are accepted. */
  cut(): void {
    for (const connection of this.connections) connection.cut();
  }

  /** Half-open: no byte passes in one direction or both, no connection closes, and new ones are accepted but silent. */
  hold(direction?: Direction): void {
    for (const one of direction === undefined ? DIRECTIONS : [direction]) this.held.add(one);
    for (const connection of this.open()) this.holdAsSet(connection);
  }

  /** Delays all bytes by `ms`, plus or minus up to `jitterMs`, and keeps the order in each direction. */
  delay(ms: number, jitterMs = 0): void {
    this.delayMs = ms;
    this.jitterMs = jitterMs;
    for (const connection of this.open()) connection.delay(ms, jitterMs);
  }

  /** Loses the reply to the next matching request, and resets its connection. The server executes the request. */
  swallowNextReply(request: RegExp): Promise<void> {
    return new Promise((swallowed) => {
      this.swallow = { request, swallowed };
    });
  }

  /** Refuses new connections; open ones stay open. */
  refuse(): void {
    this.listener?.close();
    this.listener = undefined;
  }

  /** The server is down: connections are reset, and new ones are refused. */
  goDown(): void {
    this.refuse();
    this.cut();
  }

  /** Ends all faults: held bytes pass, also those for a closed side, and new connections are accepted. */
  async resume(): Promise<void> {
    this.held.clear();
    this.delayMs = this.jitterMs = 0;
    this.swallow = undefined;
    for (const connection of this.connections) connection.resume();
    if (this.listener === undefined) await this.listen();
  }

  async stop(): Promise<void> {
    this.forget();
    this.goDown();
  }

  private accept(client: Socket): void {
    const connection = new ProxiedConnection(client, connect(this.targetPort, '127.0.0.1'), (request) => {
      this.onRequest(request);
      return this.takeSwallow(request);
    });
    this.connections.push(connection);
    this.prepare(connection);
    this.holdAsSet(connection);
    if (this.delayMs + this.jitterMs > 0) connection.delay(this.delayMs, this.jitterMs);
  }

  private holdAsSet(connection: ProxiedConnection): void {
    if (this.held.has('toServer')) connection.holdRequests();
    if (this.held.has('toClient')) connection.holdReplies();
  }

  private takeSwallow(request: string): (() => void) | undefined {
    const { swallow } = this;
    if (swallow?.request.test(request) !== true) return undefined;
    this.swallow = undefined;
    return swallow.swallowed;
  }
}

/** Makes new connections lose the reply to a matching request, until one has lost it. */
export async function loseFirstReply(ways: readonly FaultProxy[], request: RegExp): Promise<void> {
  const lost = new Promise<void>((resolve) => {
    for (const way of ways) way.prepare = (next) => void next.loseReply(request).then(resolve);
  });
  await lost;
  for (const way of ways) way.prepare = () => {};
}
