import { setTimeout as sleep } from 'node:timers/promises';

import { Injectable, Logger, type OnModuleDestroy, ServiceUnavailableException } from '@nestjs/common';
import type { Lease } from 'nestjs-distribute-lock';

import { DemoSettings } from '../settings/demo-settings.js';
import type { WorkDone } from './work-done.js';

/** Simulates slow work: it sleeps, and stops when the lease is lost or the instance shuts down. */
@Injectable()
export class WorkService implements OnModuleDestroy {
  private readonly logger = new Logger('handler');
  /** Ends every sleep at shutdown. A shared signal with a listener per request would warn of a leak. */
  private readonly sleeps = new Set<AbortController>();

  constructor(private readonly settings: DemoSettings) {}

  async run(lease: Lease, workMs = this.settings.workMs): Promise<WorkDone> {
    const startedAt = performance.now();
    this.logger.log(`works for ${workMs} ms under the lock, fencing token ${lease.fencingToken}`);
    await this.sleep(workMs, [lease.signal]);
    return {
      instance: this.settings.instance,
      fencingToken: lease.fencingToken,
      heldMs: Math.round(performance.now() - startedAt),
    };
  }

  /** Works without a lock, to compare. */
  async runUnlocked(workMs = this.settings.workMs): Promise<void> {
    await this.sleep(workMs, []);
  }

  /** Without this the shutdown would wait for the longest sleep. */
  onModuleDestroy(): void {
    for (const ended of this.sleeps) ended.abort(new ServiceUnavailableException('This instance is shutting down.'));
  }

  private async sleep(workMs: number, signals: readonly AbortSignal[]): Promise<void> {
    const ended = new AbortController();
    this.sleeps.add(ended);
    const signal = AbortSignal.any([ended.signal, ...signals]);
    try {
      await sleep(workMs, undefined, { signal });
    } catch {
      throw signal.reason;
    } finally {
      this.sleeps.delete(ended);
    }
  }
}
