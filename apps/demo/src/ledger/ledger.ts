import { Injectable } from '@nestjs/common';

import { StaleFencingTokenException } from './stale-fencing-token.exception.js';

/**
 * A resource that protects itself: it stores the largest fencing token and refuses smaller ones. A lock alone cannot do that,
 * because a stopped holder does not know yet that its lease has ended.
 *
 * This one is in the memory of its process. The same check in a database:
 * `UPDATE ledger SET balance = ..., fence = :token WHERE fence <= :token`.
 */
@Injectable()
export class Ledger {
  private balance = 0;
  private largestSeen = 0;

  /** Adds to the balance for a holder. */
  add(amount: number, fencingToken: number): number {
    if (fencingToken < this.largestSeen) throw new StaleFencingTokenException(fencingToken, this.largestSeen);
    this.largestSeen = fencingToken;
    this.balance += amount;
    return this.balance;
  }
}
