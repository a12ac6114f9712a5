import { Redis } from 'ioredis';

import { TicketBox } from './tickets.js';

/** Accepts a write unless it has seen a larger token. Returns the result and the number of accepted writes. */
const WRITE = `
local fence = tonumber(redis.call('GET', KEYS[1]) or '0')
if tonumber(ARGV[1]) < fence then return {0, redis.call('LLEN', KEYS[2])} end
redis.call('SET', KEYS[1], ARGV[1])
return {1, redis.call('RPUSH', KEYS[2], ARGV[2])}`;

/** The protected resource: one value per key, which compares fencing tokens. It uses a server without faults. */
export class Register {
  private readonly redis: Redis;
  readonly tickets: TicketBox;

  constructor(url: string) {
    this.redis = new Redis(url);
    this.tickets = new TicketBox(this.redis);
    this.redis.on('error', () => {}); // occurs only after the run
  }

  /** The number of accepted writes of the value. */
  read(key: string): Promise<number> {
    return this.redis.llen(`writes:${key}`);
  }

  async write(key: string, token: number, op: string): Promise<{ accepted: boolean; version: number }> {
    const answer = await this.redis.eval(WRITE, 2, `fence:${key}`, `writes:${key}`, token, op);
    const [accepted, version] = answer as [number, number];
    return { accepted: accepted === 1, version };
  }

  close(): void {
    this.redis.disconnect();
  }
}
