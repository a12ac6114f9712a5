import { startFaultProxy, type FaultProxy } from '../../support/fault-proxy.js';
import type { Direction } from '../../support/faulty-lane.js';
import type { RedisServer } from '../../support/redis-server.js';

/** The ways of one client to all servers of a topology, with their faults at the push of a button. */
export class Network {
  static async before(servers: readonly RedisServer[]): Promise<Network> {
    return new Network(await Promise.all(servers.map(({ port }) => startFaultProxy(port))));
  }

  private constructor(readonly ways: readonly FaultProxy[]) {}

  /** Resets every connection; new ones are welcome. */
  cut(): void {
    for (const way of this.ways) way.cut();
  }

  /** Nothing passes any more (in one direction, or both), nothing closes. */
  hold(direction?: Direction): void {
    for (const way of this.ways) way.hold(direction);
  }

  delay(ms: number, jitterMs = 0): void {
    for (const way of this.ways) way.delay(ms, jitterMs);
  }

  /** Every server does what the next call of a script asks for, and its answer is lost with the connection. */
  loseNextAnswers(): Promise<unknown> {
    return Promise.race(this.ways.map((way) => way.swallowNextReply(/evalsha/i)));
  }

  async resume(): Promise<void> {
    for (const way of this.ways) await way.resume();
  }
}
