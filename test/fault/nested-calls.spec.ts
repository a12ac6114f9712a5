import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { eventually } from '../support/eventually.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

describe('P29: work under a lock keeps it until the last of it has ended', () => {
  const world = useLockWorld();

  it.each([
    { held: { kind: 'exclusive' }, wanted: { kind: 'exclusive' } },
    { held: { kind: 'write' }, wanted: { kind: 'read' } },
    { held: { kind: 'read' }, wanted: { kind: 'write' } },
  ] as const)('for nested calls after an early failure of the outer call ($held.kind)', async ({ held, wanted }) => {
    const key = world.newKey();
    const [other, locks] = [await world.process(), new LockService(() => world.locks().engine)];
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    let working: Promise<number> | undefined;
    const failing = locks.withLock(key, { ...held, ttl: '3s' }, async () => {
      working = locks.withLock(key, { ...held, reentrant: true }, async (inner) => {
        await ended;
        expect(inner.isHeld()).toBe(true);
        return monotonicMs();
      });
      await Promise.all([working, Promise.reject(new Error('too early'))]);
    });
    await expect(failing).rejects.toThrow('too early');
    await expect(other.do('acquire', { key, ...wanted })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const next = other.do('acquire', { key, ...wanted, wait: 60_000 });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    // Two renewals: without them the key would be free.
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    end();
    const [endedAt, granted] = await Promise.all([working, next]);
    expect(granted.at).toBeGreaterThan(endedAt!);
    await other.do('release', granted);
  });

  it('so a shutdown waits for nested calls whose outer call has ended', async () => {
    const key = world.newKey();
    const { engine } = world.locks();
    const locks = new LockService(() => engine);
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const inner = await locks.withLock(key, () => ({ ended: locks.withLock(key, { reentrant: true }, () => ended) }));
    let drained = false;
    const drain = engine.drain(30_000).then(() => (drained = true));
    expect(await world.owner(key)).not.toBeNull();
    expect(drained).toBe(false);
    end();
    await Promise.all([inner.ended, drain]);
    expect(await world.owner(key)).toBeNull();
  });
});
