import { MemoryLockStore } from '../../libs/distribute-lock/src/store/memory/memory-lock-store.js';
import { SemaphoreLeases } from '../../libs/distribute-lock/src/store/memory/semaphore-leases.js';
import { ReaderLeases } from '../../libs/distribute-lock/src/store/memory/reader-leases.js';
import { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';

const KEYS = 20_000;
/** Of the last ones, whose leases may still live, and those that are not worth a look. */
const FEW = 5_000;
const TTL = 100;

/** A clock on which each lease ends while a hundred others begin. */
const world = () => {
  let now = 0;
  return { now: () => (now += 1), publish: () => 1 };
};
const sizes = (of: object): number[] =>
  Object.values(of).flatMap((value: unknown) => (value instanceof Map ? [value.size] : []));

describe('Locks in memory that ended by themselves and that nobody asked for since', () => {
  it('are forgotten', () => {
    const table = new LockTable(world());
    for (let i = 0; i < KEYS; i += 1) table.overwrite(`key-${i}`, 'alice', TTL);
    expect(Math.max(...sizes(table))).toBeLessThan(FEW);
  });

  it('are forgotten, and so are permits', () => {
    const { now, ...rest } = world();
    const leases = new SemaphoreLeases(new LockTable({ now, ...rest }), now);
    for (let i = 0; i < KEYS; i += 1) leases.give(`key-${i}`, 'alice:1:1', now() + TTL, 2);
    expect(Math.max(...sizes(leases))).toBeLessThan(FEW);
  });

  it('are forgotten, and so are readers', () => {
    const leases = new ReaderLeases(world().now);
    for (let i = 0; i < KEYS; i += 1) leases.lend(`key-${i}`, 'alice:1:r', TTL);
    expect(Math.max(...sizes(leases))).toBeLessThan(FEW);
  });

  it('leave those alone that live', () => {
    const store = new MemoryLockStore();
    for (let i = 0; i < FEW; i += 1) store.table.overwrite(`key-${i}`, 'alice');
    expect(store.table.keys()).toHaveLength(FEW);
  });
});
