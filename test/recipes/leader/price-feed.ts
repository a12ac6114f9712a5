import { Injectable } from '@nestjs/common';
import { Leader, type LeaderTerm } from 'nestjs-distribute-lock';

import { Feed, Prices } from './prices.js';

@Injectable()
export class PriceFeed {
  constructor(
    private readonly feed: Feed,
    private readonly prices: Prices,
  ) {}

  @Leader({ key: 'price-feed' })
  async lead({ signal, fencingToken }: LeaderTerm): Promise<void> {
    for await (const price of this.feed.read(signal)) await this.prices.write(price, fencingToken);
  }
}
