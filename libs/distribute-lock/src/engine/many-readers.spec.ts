import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';

/** CPU time in ms in which `count` readers of one process enter after a writer of another process, and leave. */
async function cpuOf(count: number): Promise<{ readonly enterMs: number; readonly leaveMs: number }> {
  const clock = new ManualClock();
  const world = new ManualWorld(clock);
  const [here, there] = [world.process({}, 100_000, { maxWaitersPerKey: 100_000 }), world.process()];
  const writer = await there.acquire('k', { kind: 'write', ttl: '30s' });
  const entering = Array.from({ length: count }, () => here.acquire('k', { kind: 'read', ttl: '30s', wait: '1h' }));
  await clock.pass(100);
  const before = process.cpuUsage().user;
  await writer.release();
  for (let i = 0; i < 20; i += 1) await clock.pass(5);
  const readers = await Promise.all(entering);
  const between = process.cpuUsage().user;
  await Promise.all(readers.map((reader) => reader.release()));
  const after = process.cpuUsage().user;
  return { enterMs: (between - before) / 1_000, leaveMs: (after - between) / 1_000 };
}

describe('Many readers of one process', () => {
  it('enter and leave in a time that grows with their number, not with its square', async () => {
    await cpuOf(500);
    const few = await cpuOf(500);
    const many = await cpuOf(5_000);
    // Ten times as many readers need about ten times as long, and a visit of all others a hundred times.
    expect(many.enterMs).toBeLessThan(35 * few.enterMs);
    expect(many.leaveMs).toBeLessThan(35 * few.leaveMs);
  }, 60_000);
});
