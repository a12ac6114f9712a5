interface Second {
  readonly at: number;
  count: number;
  max: number;
}

const KEPT_SECONDS = 60;

/** Count and maximum of the numbers of the last minute. It keeps one entry for each second, however many numbers come. */
export class Recent {
  private seconds: Second[] = [];

  get count(): number {
    return this.latest().reduce((total, { count }) => total + count, 0);
  }

  get max(): number {
    return this.latest().reduce((most, { max }) => Math.max(most, max), 0);
  }

  add(value: number): void {
    const at = secondNow();
    let second = this.seconds.at(-1);
    if (second?.at !== at) this.latest().push((second = { at, count: 0, max: 0 }));
    second.count += 1;
    second.max = Math.max(second.max, value);
  }

  private latest(): Second[] {
    const from = secondNow() - KEPT_SECONDS;
    return (this.seconds = this.seconds.filter(({ at }) => at >= from));
  }
}

const secondNow = (): number => Math.floor(performance.now() / 1_000);
