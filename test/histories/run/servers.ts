import type { FaultProxy } from '../../support/proxy/fault-proxy.js';
import { eventually } from '../../support/eventually.js';
import { startRedisServer, type RedisServer } from '../../support/redis-server.js';
import { ServerLog } from '../replay/server-log.js';

/** A replica copies the data of its primary at once. */
const IN_STEP = { 'repl-diskless-sync-delay': '0' };

/** The servers of a history: one, or a primary with a replica, whose roles a planned failover exchanges. */
export class Servers {
  private constructor(
    private current: RedisServer,
    private replica: RedisServer | undefined,
    private readonly logs: readonly ServerLog[],
  ) {}

  /** @param folder - gets the logs of the servers */
  static async start(folder: string, { replica }: { readonly replica: boolean }): Promise<Servers> {
    if (!replica) {
      const only = await startRedisServer({ config: { appendonly: 'yes', appendfsync: 'no' } });
      return new Servers(only, undefined, await logsOf([only], folder));
    }
    const [first, second] = await Promise.all([
      startRedisServer({ config: IN_STEP }),
      startRedisServer({ config: IN_STEP }),
    ]);
    await second.run((redis) => redis.call('REPLICAOF', '127.0.0.1', String(first.port)));
    await untilInfo(second, 'master_link_status:up');
    return new Servers(first, second, await logsOf([first, second], folder));
  }

  get primary(): RedisServer {
    return this.current;
  }

  /**
   * Exchanges the roles behind one endpoint. Open connections stay at the old primary, which becomes a replica. Redis
   * waits until the replica has all data.
   */
  async failOver(endpoints: readonly FaultProxy[]): Promise<void> {
    const { current: old, replica: next } = this;
    if (next === undefined) throw new Error('The history has no replica.');
    await untilInfo(old, 'state=online');
    for (const endpoint of endpoints) endpoint.leadTo(next.port);
    await old.run((redis) => redis.call('FAILOVER', 'TO', '127.0.0.1', String(next.port)));
    await untilInfo(next, 'role:master');
    await untilInfo(old, 'role:slave');
    [this.current, this.replica] = [next, old];
    for (const log of this.logs) log.checkpoint();
  }

  /** Completes the logs, after the last call. */
  async endLogs(): Promise<void> {
    await Promise.all(this.logs.map((log) => log.end()));
  }

  async stop(): Promise<void> {
    for (const log of this.logs) log.close();
    await Promise.all([this.current.stop(), this.replica?.stop()]);
  }
}

function logsOf(servers: readonly RedisServer[], folder: string): Promise<ServerLog[]> {
  return Promise.all(servers.map(({ port }, i) => ServerLog.start(port, folder, `server-${i}`)));
}

function untilInfo(server: RedisServer, text: string): Promise<void> {
  return eventually(async () => {
    expectText(await server.run((redis) => redis.info('replication')), text);
  });
}

function expectText(info: string, text: string): void {
  if (!info.includes(text)) throw new Error(`"${text}" is not in the replication state of the server:\n${info}`);
}
