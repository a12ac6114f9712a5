import { Redis, type RedisOptions, type SentinelAddress } from 'ioredis';

import type { Clock } from '../../runtime/clock.js';
import type { Timers } from '../../runtime/timers.js';
import { Link } from './link.js';
import { CONNECT_TIMEOUT_MS, pauseMs } from './own-options.js';

const CHANNEL = '+switch-master';

/**
 * Subscribes to every Sentinel to learn about a new primary. A replaced primary may accept writes for ten more seconds
 * and renew locks that its successor has granted to another process. The detector of the client is not used because a
 * failover during a reconnect ends the client for good.
 */
export class SentinelWatch {
  private links: readonly Link[] = [];

  /** @param switched - receives the address of the new primary as `host port` */
  constructor(
    private readonly options: RedisOptions,
    private readonly switched: (peer: string) => void,
    private readonly timing: { readonly clock: Clock; readonly timers: Timers },
  ) {}

  open(): void {
    if (this.links.length > 0) return;
    this.links = (this.options.sentinels ?? []).map((at) => this.subscribed(at));
  }

  close(): void {
    for (const link of this.links) link.abandon();
  }

  private subscribed(at: Partial<SentinelAddress>): Link {
    const { name } = this.options;
    const sentinel = new Redis(sentinelOptions(at, this.options));
    sentinel.on('message', (_: string, text: string) => {
      const [of, , , newHost, newPort] = text.split(' ');
      if (of === name) this.switched(`${newHost} ${newPort}`);
    });
    // A Sentinel that rejects the subscription sends no messages.
    const usable = (): void => void link.track(sentinel.subscribe(CHANNEL)).catch(() => undefined);
    const link: Link = new Link(sentinel, { ...this.timing, listener: { usable } });
    link.watchMessages(false);
    return link;
  }
}

/** Options of a connection to a Sentinel, derived like those of the client for the primary. */
export function sentinelOptions(at: Partial<SentinelAddress>, options: RedisOptions): RedisOptions {
  const { host, port = 26_379, family = options.family } = at;
  const { sentinelUsername, sentinelPassword, sentinelTLS } = options;
  return {
    ...(host !== undefined && { host }),
    port,
    ...(family !== undefined && { family }),
    ...(typeof sentinelUsername === 'string' && { username: sentinelUsername }),
    ...(typeof sentinelPassword === 'string' && { password: sentinelPassword }),
    ...(sentinelTLS !== undefined && { tls: sentinelTLS }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    keepAlive: options.keepAlive ?? 0,
    disconnectTimeout: CONNECT_TIMEOUT_MS,
    enableReadyCheck: false,
    autoResubscribe: false,
    maxRetriesPerRequest: null,
    retryStrategy: pauseMs,
  };
}
