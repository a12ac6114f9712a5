import { setTimeout as delay } from 'node:timers/promises';

import { Injectable } from '@nestjs/common';

/** More pages than a test needs; reports the outcome of each. */
@Injectable()
export class Pages {
  say: (what: 'begun' | 'done') => void = () => undefined;

  async hasMore(): Promise<boolean> {
    return true;
  }

  async importNext(): Promise<void> {
    this.say('begun');
    await delay(300);
    this.say('done');
  }
}
