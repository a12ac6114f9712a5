import { Locks } from '../../libs/distribute-lock/src/locks/locks.js';
import { MemoryLockStore } from '../../libs/distribute-lock/src/store/memory/memory-lock-store.js';
import { locksOn } from '../fault/support/lock-engine.js';
import { grantsOf } from './run/lease-facts.js';

describe('The facts of a lease that a history records', () => {
  const { engine } = locksOn(new MemoryLockStore());
  const service = new Locks(() => engine);

  afterAll(() => engine.close());

  it.each<[string, string | string[], string[]]>([
    ['one key', 'a', ['a']],
    ['several keys', ['b', 'c'], ['b', 'c']],
  ])('name each key of a lease of %s', async (_, keys, expected) => {
    const lease = await service.acquire(keys, { reentrant: true });
    const { sentAt, leases } = grantsOf(lease);

    expect([Object.keys(sentAt), Object.keys(leases)]).toEqual([expected, expected]);
    await lease.release();
  });

  it('are those of the outer lease for a nested call', async () => {
    await service.withLock('d', { reentrant: true }, async (outer) => {
      const inner = await service.acquire('d', { reentrant: true });

      expect(grantsOf(inner)).toEqual(grantsOf(outer));
      await inner.release();
    });
  });

  it('are never left out', () => {
    class OtherLease {}

    expect(() => grantsOf(new OtherLease() as never)).toThrow('OtherLease');
  });
});
