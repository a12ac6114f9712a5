import { MemoryLocks } from '../../libs/distribute-lock/src/store/memory/memory-locks.js';

const KEYS = 20_000;
/** The most recent locks, whose leases may be valid, plus a number too small for a sweep. */
const FEW = 5_000;
const TTL = 100;

/** Locks on a clock on which a lease ends after a hundred others have begun. */
function world() {
  let now = 1;
  const locks = new MemoryLocks({ now: () => now, publish: () => 1 });
  return { locks, pass: () => (now += 1) };
}

/** Number of entries, including expired ones. */
const sizeOf = (locks: MemoryLocks): number =>
  Object.values(locks.server).reduce((sum: number, each: unknown) => sum + (each instanceof Map ? each.size : 0), 0);

const request = (i: number, ownerToken: string, kind: 'exclusive' | 'read' | 'semaphore') =>
  ({ key: `key-${i}`, ownerToken, kind, ttlMs: TTL, wait: false, block: 1 }) as const;
const PROCESS = 'a'.repeat(22);

describe('Expired locks in memory without any later attempt', () => {
  it.each([
    ['exclusive', `${PROCESS}:1`],
    ['read', `${PROCESS}:1:r`],
    ['semaphore', `${PROCESS}:1P2:1`],
  ] as const)('are removed: %s', (kind, token) => {
    const { locks, pass } = world();
    for (let i = 0; i < KEYS; i += 1) {
      expect(locks.acquire(request(i, token, kind)).outcome).toBe('granted');
      pass();
    }
    expect(sizeOf(locks)).toBeLessThan(FEW);
  });

  it('are removed, and valid locks stay', () => {
    const { locks } = world();
    for (let i = 0; i < FEW; i += 1) locks.acquire(request(i, `${PROCESS}:1`, 'exclusive'));
    // One of them is the counter of fencing tokens.
    expect(locks.server.dump()).toHaveLength(FEW + 1);
  });
});
