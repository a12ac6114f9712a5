import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';

import { cores, pinned } from './pinning.mjs';

const TRIES = 5;

/** A private `redis-server` on a free loopback port, without data on disk. */
export class RedisServer {
  constructor(process, port, redis) {
    this.process = process;
    this.redis = redis;
    this.url = `redis://127.0.0.1:${port}`;
  }

  /** @param settings - as in redis.conf */
  static async start(settings = {}) {
    for (let attempt = 1; ; attempt += 1) {
      const port = await freePort();
      const child = launch(port, settings);
      const redis = new Redis({ port, host: '127.0.0.1', retryStrategy: (times) => (times < 100 ? 20 : null) });
      redis.on('error', () => undefined); // until the server accepts connections
      const info = await redis.info('server').catch(() => '');
      if (info.includes(`process_id:${child.pid}\r\n`)) return new RedisServer(child, port, redis);
      redis.disconnect();
      child.kill('SIGKILL');
      if (attempt === TRIES) throw new Error('redis-server does not start. Check that it is installed.');
    }
  }

  async usedMemory() {
    return Number(/used_memory:(\d+)/.exec(await this.redis.info('memory'))[1]);
  }

  async version() {
    return /redis_version:(\S+)/.exec(await this.redis.info('server'))[1];
  }

  async stop() {
    this.redis.disconnect();
    if (this.process.exitCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }
}

function launch(port, settings) {
  const all = { bind: '127.0.0.1', port, save: '', appendonly: 'no', ...settings };
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(...pinned(cores.server, 'redis-server', args), { stdio: 'ignore' });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  child.once('error', () => undefined);
  return child;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
