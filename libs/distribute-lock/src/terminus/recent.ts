/** Numbers of the last minute. */
export class Recent {
  private values: { readonly at: number; readonly value: number }[] = [];

  add(value: number): void {
    this.values.push({ at: performance.now(), value });
    if (this.values.length > MOST) this.forget();
  }

  get count(): number {
    return this.forget().length;
  }

  get max(): number {
    return this.forget().reduce((max, { value }) => Math.max(max, value), 0);
  }

  private forget(): readonly { readonly value: number }[] {
    const from = performance.now() - MINUTE_MS;
    this.values = this.values.filter(({ at }) => at >= from).slice(-MOST);
    return this.values;
  }
}

const MINUTE_MS = 60_000;
/** More values of one minute are counted as this many. */
const MOST = 10_000;
