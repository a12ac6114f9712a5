/** A lease that ends when its handle is garbage-collected. */
export interface Collectable {
  /** No code can still release it. */
  forgotten(): void;
}

// It keeps the lease until the handle is collected, so that a release costs nothing.
const registry = new FinalizationRegistry<Collectable>((lease) => lease.forgotten());

/** Calls `lease.forgotten()` when `handle` is garbage-collected. The lease must not refer to the handle. */
export const endWhenCollected = (handle: object, lease: Collectable): void => registry.register(handle, lease);
