import { currentLease, findCurrentLease, findHeld, outsideLocks, runHolding } from './held-leases.js';
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
    expect(() => currentLease()).toThrow(refused(/^currentLease\(\) found no lease: call it in a locked method/));
    runHolding(leaseOf('outer'), () => {
      expect(() => currentLease('secret')).toThrow(refused(/found no lease of that key/));
      expect(() => currentLease('secret')).not.toThrow(/secret/);
    });
  });
});

describe('outsideLocks', () => {
  it('runs its work outside of the locks of the call, also after an await', async () => {
    await runHolding(leaseOf('outer'), async () => {
      await outsideLocks(async () => {
        await Promise.resolve();
        expect(findCurrentLease()).toBeUndefined();
      });
      expect(findCurrentLease('outer')).toBeDefined();
    });
  });
});

describe('A chain of held leases', () => {
  const newLease = (key: string) => ({ key, keys: [key], left: false }) as unknown as Lease & { left: boolean };

  const lengthOfChain = (): number => {
    let length = 0;
    findHeld(() => {
      length += 1;
      return false;
    });
    return length;
  };

  const timer = (next: () => void): unknown => setImmediate(next);
  const promise = async (next: () => void): Promise<void> => {
    await Promise.resolve();
    next();
  };
  const recursion = (next: () => void): unknown => next();

  it.each([
    ['timers', timer, 100_000],
    ['promises', promise, 100_000],
    // The stack ends a deeper recursion.
    ['recursion', recursion, 1_000],
  ])('does not grow when each run starts the next one from inside (%s)', async (_case, start, runs) => {
    const lengths = new Set<number>();
    await new Promise<void>((resolve) => {
      const run = (left: number, before?: { left: boolean }): void => {
        const lease = newLease(`k${left}`);
        runHolding(lease, () => {
          // The run before ends after this one has begun.
          if (before !== undefined) before.left = true;
          lengths.add(lengthOfChain());
          if (left === 0) resolve();
          else start(() => run(left - 1, lease));
        });
      };
      run(runs);
    });
    expect(Math.max(...lengths)).toBe(1);
  });

  it('holds a lease once, however often its work is entered', () => {
    const lease = newLease('stream');
    runHolding(lease, () => runHolding(lease, () => expect(lengthOfChain()).toBe(1)));
  });
});
