import { setTimeout as sleep } from 'node:timers/promises';

import { Injectable, Logger, type OnModuleDestroy, ServiceUnavailableException } from '@nestjs/common';
import type { Lease } from 'nestjs-distribute-lock';

import { DemoSettings } from '../settings/demo-settings.js';
import type { WorkDone } from './work-done.js';

/** Stands for work that takes its time: it sleeps, and stops when the lease is lost or the instance shuts down. */
@Injectable()
export class WorkService implements OnModuleDestroy {
  private readonly logger = new Logger('handler');
  private readonly stopping = new AbortController();

  constructor(private readonly settings: DemoSettings) {}

  /** Works for `workMs` under a lease. */
  async run(lease: Lease, workMs = this.settings.workMs): Promise<WorkDone> {
    const startedAt = performance.now();
    this.logger.log(`works for ${workMs} ms under the lock, fencing token ${lease.fencingToken}`);
    await this.sleepWhileHeld(lease, workMs);
    return {
      instance: this.settings.instance,
      fencingToken: lease.fencingToken,
      heldMs: Math.round(performance.now() - startedAt),
    };
  }

  /** Without this the shutdown would wait for the longest sleep. */
  onModuleDestroy(): void {
    this.stopping.abort(new ServiceUnavailableException('This instance is shutting down.'));
  }

  private async sleepWhileHeld(lease: Lease, workMs: number): Promise<void> {
    const lapsed = new AbortController();
    const lose = () => lapsed.abort(lease.signal.reason);
    const stop = () => lapsed.abort(this.stopping.signal.reason);
    const unlink = [follow(lease.signal, lose), follow(this.stopping.signal, stop)];
    try {
      await sleep(workMs, undefined, { signal: lapsed.signal });
    } catch {
      throw lapsed.signal.reason;
    } finally {
      for (const forget of unlink) forget();
    }
  }
}

/** Calls `then` when the signal aborts, at once if it has; answers with the way to stop listening. */
function follow(signal: AbortSignal, then: () => void): () => void {
  if (signal.aborted) then();
  else signal.addEventListener('abort', then, { once: true });
  return () => signal.removeEventListener('abort', then);
}
