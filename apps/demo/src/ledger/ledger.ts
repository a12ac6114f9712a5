import { Injectable } from '@nestjs/common';

import { StaleFencingTokenException } from './stale-fencing-token.exception.js';

/**
 * A resource that protects itself: it remembers the largest fencing token and refuses smaller ones. A lock alone cannot
 * do that, because a holder that was stopped for a while does not know yet that its lease has ended.
 *
 * This one lives in the memory of its process. In a database the same check is
 * `UPDATE ledger SET balance = ..., fence = :token WHERE fence <= :token`.
 */
@Injectable()
export class Ledger {
  private balance = 0;
  private largestSeen = 0;

  /** Adds to the balance in the name of a holder. */
  add(amount: number, fencingToken: number): number {
    if (fencingToken < this.largestSeen) throw new StaleFencingTokenException(fencingToken, this.largestSeen);
    this.largestSeen = fencingToken;
    this.balance += amount;
    return this.balance;
  }
}
