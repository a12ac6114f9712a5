import { Redis, type RedisOptions, type SentinelAddress } from 'ioredis';

import type { Clock } from '../../runtime/clock.js';
import type { TimerLanes } from '../../runtime/timer-lanes.js';
import { Link } from './link.js';
import { pauseMs } from './own-options.js';

const CHANNEL = '+switch-master';
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Listens at every Sentinel for a new primary. A primary that was replaced may take writes for ten seconds more, and would
 * renew what its successor has given to another process. (The client's own detector ends the client for good when the news
 * comes while it reconnects.)
 */
export class SentinelWatch {
  private links: readonly Link[] = [];

  /** @param switched - is called with the place of the new primary, as `host port` */
  constructor(
    private readonly options: RedisOptions,
    private readonly switched: (place: string) => void,
    private readonly timing: { readonly clock: Clock; readonly timers: TimerLanes },
  ) {}

  open(): void {
    if (this.links.length > 0) return;
    this.links = (this.options.sentinels ?? []).map((at) => this.subscribed(at));
  }

  close(): void {
    for (const link of this.links) {
      link.end();
      link.client.disconnect();
    }
  }

  private subscribed(at: Partial<SentinelAddress>): Link {
    const { name } = this.options;
    const sentinel = new Redis(sentinelOptions(at, this.options));
    sentinel.on('error', () => undefined); // one that is away is tried again
    sentinel.on('message', (_: string, text: string) => {
      const [of, , , newHost, newPort] = text.split(' ');
      if (of === name) this.switched(`${newHost} ${newPort}`);
    });
    // A Sentinel that refuses the subscription brings no news.
    const usable = (): void => void link.track(sentinel.subscribe(CHANNEL)).catch(() => undefined);
    const link: Link = new Link(sentinel, { ...this.timing, listener: { usable } });
    link.watchMessages(false);
    return link;
  }
}

/** A connection to a Sentinel, had in the same way as the client of the primary has its own. */
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
