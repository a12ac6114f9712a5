import { currentLease, runHolding } from './held-leases.js';
import type { Lease } from './lease.js';

const leaseOf = (key: string) => ({ key, keys: [key] }) as unknown as Lease;

describe('currentLease', () => {
  it('returns the innermost lease, or the lease of a key', () => {
    const [outer, inner] = [leaseOf('outer'), leaseOf('inner')];
    runHolding(outer, () =>
      runHolding(inner, () => {
        expect(currentLease()).toBe(inner);
        expect(currentLease('outer')).toBe(outer);
      }),
    );
  });

  it('throws outside of a lock, and for a key that the call does not hold, without naming the key', () => {
    const refused = (message: RegExp) =>
      expect.objectContaining({ code: 'LOCK_USAGE', message: expect.stringMatching(message) as string }) as Error;
    expect(() => currentLease()).toThrow(refused(/^currentLease\(\) found no lease: call it in a method with/));
    runHolding(leaseOf('outer'), () => {
      expect(() => currentLease('secret')).toThrow(refused(/found no lease of that key/));
      expect(() => currentLease('secret')).not.toThrow(/secret/);
    });
  });
});
