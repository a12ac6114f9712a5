import { useLockWorld } from './support/use-lock-world.js';

describe('P11: the fencing tokens of a key rise', () => {
  const world = useLockWorld();

  it('from holder to holder, after FLUSHALL, and after a restart without data', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    const tokens: number[] = [];
    // 200 callers at a time: reserved numbers must not run ahead of the clock that they start from
    const round = async (): Promise<void> => {
      const all = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? alice : bob).acquire(key, { wait: '20s' }));
      await Promise.all(
        all.map(async (acquired) => {
          const lease = await acquired;
          tokens.push(lease.fencingToken);
          await lease.release();
        }),
      );
    };
    await round();
    await world.client.flushall();
    await round();
    await world.server.restart();
    await round();
    expect(tokens).toHaveLength(600);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(tokens.every(Number.isSafeInteger)).toBe(true);
  });

  it('also when the clock of the server was set back, as long as it keeps its data', async () => {
    const alice = world.locks();
    const key = world.newKey();
    const ahead = Date.now() * 1_000 + 3_600_000_000;
    await world.client.set('f:lock:', ahead);
    const first = await alice.acquire(key);
    await first.release();
    const second = await alice.acquire(key);
    await second.release();
    expect(first.fencingToken).toBeGreaterThanOrEqual(ahead);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
  });
});
