import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { Locks } from '../../libs/distribute-lock/src/locks/locks.js';
import { startProcess, type World } from './world.js';

/** Work that runs once for an instant. */
export function describeOnceContract(makeWorld: () => World): void {
  const world = makeWorld();
  const start = (): Locks => {
    const { engine } = startProcess(world);
    return world.byCreateLocks === true ? new Locks(() => engine) : new LockService(() => engine);
  };
  const here = start();
  const there = start();
  const minute = (instant: string) => ({ instant: new Date(instant), intervalMs: 60_000 });

  it('runs an instant once, in whichever process is first', async () => {
    const [tick, next] = [minute('2026-05-05T03:00Z'), minute('2026-05-05T03:01Z')];
    expect(await here.onceAt('job', tick, async () => 'here')).toBe('here');
    expect(await there.onceAt('job', tick, async () => 'there')).toBeUndefined();
    expect(await there.onceAt('job', next, async () => 'there')).toBe('there');
    expect(await here.onceAt('job', next, async () => 'here')).toBeUndefined();
    expect(await here.onceAt('another job', next, async () => 'here')).toBe('here');
  });

  it('runs one of many calls for an instant at the same time', async () => {
    const ticks = Array.from({ length: 10 }, (_, i) => minute(`2026-05-05T04:0${i}Z`));
    let runs = 0;
    for (const tick of ticks) {
      const work = async (): Promise<void> => void (runs += 1);
      await Promise.all([here, there, here, there].map((locks) => locks.onceAt('busy job', tick, work)));
    }
    expect(runs).toBe(ticks.length);
  });
}
