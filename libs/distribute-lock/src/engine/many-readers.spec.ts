import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import { LeaseHandle } from './lease/lease-handle.js';

const READERS = 10_000;

const ORIGINAL = Object.getOwnPropertyDescriptors(LeaseHandle.prototype);

/** Counts the looks at a lease. It keeps no calls: without the measure there are a hundred million. */
function countVisits(): () => number {
  let visits = 0;
  const { ownValidUntil, leaseUntil } = ORIGINAL;
  Object.defineProperties(LeaseHandle.prototype, {
    ownValidUntil: {
      ...ownValidUntil,
      value(this: LeaseHandle, ...args: []) {
        visits += 1;
        return (ownValidUntil.value as () => unknown).apply(this, args);
      },
    },
    leaseUntil: {
      ...leaseUntil,
      get(this: LeaseHandle) {
        visits += 1;
        return leaseUntil.get!.call(this);
      },
    },
  });
  return () => visits;
}

describe('Many readers of one process', () => {
  afterEach(() => Object.defineProperties(LeaseHandle.prototype, ORIGINAL));

  it('enter and leave in a time that grows with their number, not with its square', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process({}, READERS, { maxWaitersPerKey: READERS }), world.process()];
    const writer = await there.acquire('k', { kind: 'write', ttl: '30s' });
    const entering = Array.from({ length: READERS }, () => here.acquire('k', { kind: 'read', ttl: '30s', wait: '1h' }));
    await clock.pass(100);
    const visits = countVisits();
    await writer.release();
    for (let i = 0; i < 20; i += 1) await clock.pass(5);
    const readers = await Promise.all(entering);
    const entered = visits();
    await Promise.all(readers.map((reader) => reader.release()));

    // A visit of all others by each reader would be 500 times as much.
    expect(entered).toBeGreaterThan(0);
    expect(entered).toBeLessThan(20 * READERS);
    expect(visits() - entered).toBeLessThan(20 * READERS);
  });
});
