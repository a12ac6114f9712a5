// Under Jest the access to a global costs more than the arithmetic.
const { imul, floor } = Math;

/** Pseudo-random numbers that repeat from their seed (mulberry32). */
export class Random {
  constructor(private state: number) {}

  /** At least 0 and less than 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let x = imul(this.state ^ (this.state >>> 15), 1 | this.state);
    x = (x + imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296;
  }

  between(from: number, to: number): number {
    return from + (to - from) * this.next();
  }

  /** An integer from `from` to `to`, both included. */
  int(from: number, to: number): number {
    return from + floor(this.next() * (to - from + 1));
  }

  chance(share: number): boolean {
    return share > 0 && this.next() < share;
  }

  pick<T>(list: readonly T[]): T {
    return list[floor(this.next() * list.length)];
  }
}
