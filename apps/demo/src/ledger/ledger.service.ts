import { once } from 'node:events';

import { Injectable } from '@nestjs/common';
import { type Lease, LockService } from 'nestjs-distribute-lock';

import { DemoSettings } from '../settings/demo-settings.js';
import type { FencedWriteDone } from './ledger.dto.js';
import { Ledger } from './ledger.js';

const KEY = 'ledger';
const SHORT_TTL_MS = 200;

@Injectable()
export class LedgerService {
  constructor(
    private readonly locks: LockService,
    private readonly ledger: Ledger,
    private readonly settings: DemoSettings,
  ) {}

  /** Writes under the lock, with the fencing token as proof. */
  async write(amount: number): Promise<FencedWriteDone> {
    return this.locks.withLock(KEY, { ttl: '10s', wait: '5s' }, async (lease) => this.add(amount, lease));
  }

  /**
   * Simulates a holder that is stopped (a long garbage collection, a suspended machine) until its lease has ended and
   * another holder has written. Then it continues, and the ledger refuses its write.
   */
  async writeAfterPause(amount: number): Promise<FencedWriteDone> {
    const sleeper = await this.locks.acquire(KEY, { ttl: SHORT_TTL_MS, renew: false, wait: '5s' });
    if (!sleeper.signal.aborted) await once(sleeper.signal, 'abort');
    await this.write(amount);
    return this.add(amount, sleeper);
  }

  private add(amount: number, { fencingToken }: Lease): FencedWriteDone {
    return { instance: this.settings.instance, fencingToken, balance: this.ledger.add(amount, fencingToken) };
  }
}
