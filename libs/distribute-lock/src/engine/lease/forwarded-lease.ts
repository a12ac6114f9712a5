import { Lease } from './lease.js';

/** A lease that shows the facts of another one. */
export abstract class ForwardedLease<Inner extends Lease> extends Lease {
  constructor(readonly inner: Inner) {
    super();
  }

  get key(): string {
    return this.inner.key;
  }

  get keys(): readonly string[] {
    return this.inner.keys;
  }

  get fencingToken(): number {
    return this.inner.fencingToken;
  }

  get fencingTokens(): ReadonlyMap<string, number> {
    return this.inner.fencingTokens;
  }

  get signal(): AbortSignal {
    return this.inner.signal;
  }
}
