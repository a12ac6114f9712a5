import { setTimeout as delay } from 'node:timers/promises';

/** A stream of prices that ends with the signal. */
export class Feed {
  async *read(signal: AbortSignal): AsyncGenerator<number> {
    for (let price = 1; !signal.aborted; price += 1) {
      yield price;
      await delay(5, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** A resource that records tokens. */
export class Prices {
  readonly tokens: number[] = [];

  async write(_price: number, fencingToken: number): Promise<void> {
    this.tokens.push(fencingToken);
  }
}
