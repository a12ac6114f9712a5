import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';

import { cores, pinned } from './pinning.mjs';

const TRIES = 5;
/** A server that runs under another program takes seconds to start. */
const retryStrategy = (times) => (times < 500 ? 20 : null);

/** A private `redis-server` on a free loopback port, without data on disk. */
export class RedisServer {
  constructor(process, port, redis) {
    this.process = process;
    this.redis = redis;
    this.url = `redis://127.0.0.1:${port}`;
  }

  /**
   * @param settings - as in redis.conf
   * @param under - a program that runs the server, and its arguments
   */
  static async start(settings = {}, under = []) {
    for (let attempt = 1; ; attempt += 1) {
      const port = await freePort();
      const child = launch(port, settings, under);
      const redis = new Redis({ ...{ port, host: '127.0.0.1' }, maxRetriesPerRequest: null, retryStrategy });
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

  /** User and system time so far, in microseconds. */
  async cpuUs() {
    const info = await this.redis.info('cpu');
    const seconds = ['sys', 'user'].map((part) => Number(new RegExp(`used_cpu_${part}:([\\d.]+)`).exec(info)[1]));
    return (seconds[0] + seconds[1]) * 1_000_000;
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

function launch(port, settings, under) {
  const all = { bind: '127.0.0.1', port, save: '', appendonly: 'no', ...settings };
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const [program, ...before] = [...under, 'redis-server'];
  const stdio = ['ignore', 'ignore', under.length > 0 ? 'pipe' : 'ignore'];
  const child = spawn(...pinned(cores.server, program, [...before, ...args]), { stdio });
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
