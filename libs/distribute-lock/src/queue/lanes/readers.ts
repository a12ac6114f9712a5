import type { Holder } from '../../lease/holder.js';
import type { Loss } from '../../lease/loss.js';

/**
 * The readers of one process, who share one lease. It is renewed while one of them wants that, so that a reader with
 * `renew: false` or past its `maxHold` lives on beside others, until a writer waits and they have ended.
 */
export class Readers implements Holder {
  private readonly all = new Set<Holder>();

  get size(): number {
    return this.all.size;
  }

  get renew(): boolean {
    for (const { renew } of this.all) if (renew) return true;
    return false;
  }

  get renewUntil(): number {
    let until = -Infinity;
    for (const { renew, renewUntil } of this.all) if (renew && renewUntil > until) until = renewUntil;
    return until;
  }

  get leaseUntil(): number {
    let until = -Infinity;
    for (const { leaseUntil } of this.all) until = Math.max(until, leaseUntil);
    return until;
  }

  get names(): readonly string[] {
    return [...this.all].flatMap(({ names }) => names);
  }

  get unreportedSince(): number {
    let since = Infinity;
    for (const { unreportedSince } of this.all) since = Math.min(since, unreportedSince);
    return since;
  }

  reportLong(before: number): void {
    for (const reader of this.all) reader.reportLong(before);
  }

  add(reader: Holder): void {
    this.all.add(reader);
  }

  remove(reader: Holder): void {
    this.all.delete(reader);
  }

  lose(loss: Loss): void {
    for (const reader of this.all) reader.lose(loss);
  }

  shutDown(): void {
    for (const reader of [...this.all]) reader.shutDown();
  }
}
