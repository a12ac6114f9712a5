import { jest } from '@jest/globals';

import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import { LeaseHandle } from './lease/lease-handle.js';

const READERS = 10_000;

describe('Many readers of one process', () => {
  afterEach(() => jest.restoreAllMocks());

  it('enter and leave in a time that grows with their number, not with its square', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process({}, READERS, { maxWaitersPerKey: READERS }), world.process()];
    const writer = await there.acquire('k', { kind: 'write', ttl: '30s' });
    const entering = Array.from({ length: READERS }, () => here.acquire('k', { kind: 'read', ttl: '30s', wait: '1h' }));
    await clock.pass(100);
    const end = jest.spyOn(LeaseHandle.prototype, 'ownValidUntil');
    const need = jest.spyOn(LeaseHandle.prototype, 'leaseUntil', 'get');
    const visits = (): number => end.mock.calls.length + need.mock.calls.length;
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
