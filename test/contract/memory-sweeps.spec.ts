import { MemoryLockStore } from '../../libs/distribute-lock/src/store/memory/memory-lock-store.js';
import { SemaphoreLeases } from '../../libs/distribute-lock/src/store/memory/semaphore-state.js';
import { ReaderLeases } from '../../libs/distribute-lock/src/store/memory/read-write-steps.js';
import { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';

const KEYS = 20_000;
/** The most recent locks, whose leases may be valid, plus a number too small for a sweep. */
const FEW = 5_000;
const TTL = 100;

/** A clock on which a lease ends after a hundred others have begun. */
const world = () => {
  let now = 0;
  return { now: () => (now += 1), publish: () => 1 };
};
const sizes = (of: object): number[] =>
  Object.values(of).flatMap((value: unknown) => (value instanceof Map ? [value.size] : []));

describe('Expired locks in memory without any later attempt', () => {
  it('are removed', () => {
    const table = new LockTable(world());
    for (let i = 0; i < KEYS; i += 1) table.overwrite(`key-${i}`, 'alice', TTL);
    expect(Math.max(...sizes(table))).toBeLessThan(FEW);
  });

  it('are removed, also those of permits', () => {
    const { now, ...rest } = world();
    const leases = new SemaphoreLeases(new LockTable({ now, ...rest }), now);
    for (let i = 0; i < KEYS; i += 1) leases.give(`key-${i}`, 'alice:1P2:1', now() + TTL);
    expect(Math.max(...sizes(leases))).toBeLessThan(FEW);
  });

  it('are removed, also those of readers', () => {
    const leases = new ReaderLeases(world().now);
    for (let i = 0; i < KEYS; i += 1) leases.lend(`key-${i}`, 'alice:1:r', TTL);
    expect(Math.max(...sizes(leases))).toBeLessThan(FEW);
  });

  it('are removed, and valid locks stay', () => {
    const store = new MemoryLockStore();
    for (let i = 0; i < FEW; i += 1) store.table.overwrite(`key-${i}`, 'alice');
    expect(store.table.keys()).toHaveLength(FEW);
  });
});
