import { ManualClock } from '../../../../test/support/manual-clock.js';
import { type Detour, LateCommand } from '../../../../test/support/held-up-store.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';

interface Call {
  readonly calledAt: number;
  grantedAt: number;
}

/** Callers of several processes that want 3 permits for 20 ms, again and again. */
async function serve(processes: number, callers: number): Promise<readonly Call[]> {
  const clock = new ManualClock();
  const world = new ManualWorld(clock);
  const calls: Call[] = [];
  let drawn = 1;
  // The sequence of Park and Miller.
  const draw = (below: number): number => (drawn = (drawn * 16_807) % (2 ** 31 - 1)) % below;
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));
  const late: Detour = async (send) => {
    const answer = await send();
    await pause(1);
    return answer;
  };
  const run = async (process: ReturnType<typeof world.process>): Promise<void> => {
    for (let i = 0; i < 6; i += 1) {
      await pause(1 + draw(200));
      const calledAt = clock.now();
      const lease = await process.acquire('k', { kind: 'semaphore', permits: 3, ttl: '30s', wait: '60s' });
      calls.push({ calledAt, grantedAt: clock.now() });
      await pause(1 + draw(40));
      await lease.release();
    }
  };
  const all = Array.from({ length: processes }, () => {
    const process = world.process({ acquire: late, release: late }, 1_000);
    return Array.from({ length: callers }, () => run(process));
  }).flat();
  for (let ms = 0; ms < 6_000 && calls.length < all.length * 6; ms += 1) {
    clock.turn();
    await clock.pass(1);
  }
  await clock.pass(100);
  await Promise.all(all);
  return calls;
}

describe('Callers of a semaphore in several processes', () => {
  it('are served in the order of their calls, also when more of them wait than have a place in the store', async () => {
    const calls = await serve(4, 16);
    const overtaken = calls.flatMap(({ calledAt, grantedAt }) =>
      calls
        .filter((later) => later.calledAt > calledAt + 50 && later.grantedAt < grantedAt - 25)
        .map((later) => `${later.calledAt - calledAt} ms`),
    );
    expect(calls).toHaveLength(4 * 16 * 6);
    expect(overtaken).toEqual([]);
  });

  it('are served in that order although the place in front of another process has just been left', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [holds, here, there] = [world.process(), world.process(), world.process()];
    const options = { kind: 'semaphore', permits: 1, ttl: '30s', wait: '60s' } as const;
    const served: string[] = [];
    const call = (name: string, by: typeof here, signal?: AbortSignal) =>
      by.acquire('k', { ...options, ...(signal && { signal }) }).then(
        async (lease) => {
          served.push(name);
          await lease.release();
        },
        () => served.push(`${name} left`),
      );
    const holder = await holds.acquire('k', options);
    const leaving = new AbortController();
    const first = call('first', here);
    await clock.pass(50);
    const left = call('second', here, leaving.signal);
    await clock.pass(50);
    // Its place is removed only after another process has queued behind it.
    const undo = new LateCommand();
    here.detours.release = undo.detour;
    leaving.abort();
    const other = call('other process', there);
    await clock.pass(50);
    undo.execute();
    delete here.detours.release;
    await clock.pass(200);
    const late = call('later', here);
    await clock.pass(50);
    await holder.release();
    await clock.pass(50);
    await Promise.all([first, left, other, late]);
    expect(served).toEqual(['second left', 'first', 'other process', 'later']);
  });
});
