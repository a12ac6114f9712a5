import { startFaultProxy, type FaultProxy } from '../../support/proxy/fault-proxy.js';
import type { Direction } from '../../support/proxy/proxied-connection.js';
import type { RedisServer } from '../../support/redis-server.js';

/** The proxies between one client and all servers of a topology. A test switches their faults. */
export class Network {
  static async before(servers: readonly RedisServer[]): Promise<Network> {
    return new Network(await Promise.all(servers.map(({ port }) => startFaultProxy(port))));
  }

  private constructor(readonly ways: readonly FaultProxy[]) {}

  /** Resets every connection; new connections are accepted. */
  cut(): void {
    for (const way of this.ways) way.cut();
  }

  /** Stops all bytes in one direction or both, and keeps the connections open. */
  hold(direction?: Direction): void {
    for (const way of this.ways) way.hold(direction);
  }

  delay(ms: number, jitterMs = 0): void {
    for (const way of this.ways) way.delay(ms, jitterMs);
  }

  /** Each server executes the next script call, and its reply is lost with the connection. */
  loseNextAnswers(): Promise<unknown> {
    return Promise.race(this.ways.map((way) => way.swallowNextReply(/evalsha/i)));
  }

  async resume(): Promise<void> {
    for (const way of this.ways) await way.resume();
  }
}
