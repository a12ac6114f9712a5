import { ClientProcess } from './client-process.mjs';
import { RedisServer } from './redis-server.mjs';

/** One server and the client processes of one workload. */
export class Arena {
  clients = new Set();

  constructor(workload, server) {
    this.workload = workload;
    this.server = server;
    /** What the clients connect to. */
    this.address = server;
  }

  /** Runs `work` in a separate arena, and removes the arena afterwards. */
  static async run(workload, work, redisSettings = {}) {
    const arena = new Arena(workload, await RedisServer.start(redisSettings));
    try {
      return await work(arena);
    } finally {
      await Promise.all([...arena.clients].map((client) => client.end()));
      await arena.server.stop();
    }
  }

  async client(adapter, options) {
    const client = await ClientProcess.start(this.workload, adapter, this.address, options);
    this.clients.add(client);
    return client;
  }

  /** Starts `count` client processes with the adapter. */
  clientsOf(adapter, count, options) {
    return Promise.all(Array.from({ length: count }, () => this.client(adapter, options)));
  }

  async end(...clients) {
    for (const client of clients) {
      this.clients.delete(client);
      await client.end();
    }
  }
}
