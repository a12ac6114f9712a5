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

  /** Callers of permits that work for 5 ms; `served` names them in the order of their grants. */
  const queue = (permits: number) => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [holds, here, there] = [world.process(), world.process(), world.process()];
    const options = { kind: 'semaphore', permits, ttl: '30s', wait: '60s' } as const;
    const served: string[] = [];
    const call = (
      name: string,
      by: typeof here,
      more: { signal?: AbortSignal; renew?: boolean; minHold?: number } = {},
    ) =>
      by.acquire('k', { ...options, ...more }).then(
        async (lease) => {
          served.push(name);
          await new Promise<void>((resolve) => void clock.after(5, resolve));
          await lease.release();
        },
        () => served.push(`${name} left`),
      );
    return { clock, here, there, served, call, hold: () => holds.acquire('k', options) };
  };

  it('are served in that order although the place in front of another process has just been left', async () => {
    const { clock, here, there, served, call, hold } = queue(1);
    const holder = await hold();
    const leaving = new AbortController();
    const first = call('first', here);
    await clock.pass(50);
    const left = call('second', here, { signal: leaving.signal });
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

  it('are served in that order although another process queued before their report', async () => {
    const { clock, here, there, served, call, hold } = queue(2);
    const [holder] = [await hold(), await hold()];
    // Callers that need their whole ttl get a permit from the store only.
    const whole = { renew: false };
    const calls = [call('first', here, whole)];
    await clock.pass(5);
    calls.push(call('second', here, whole));
    await clock.pass(5);
    calls.push(call('third', here, whole));
    await clock.pass(5);
    calls.push(call('other process', there));
    await clock.pass(200);
    calls.push(call('later', there));
    await clock.pass(50);
    await holder.release();
    await clock.pass(500);
    await Promise.all(calls);
    expect(served).toEqual(['first', 'second', 'other process', 'third', 'later']);
  });

  it('are served in that order although the permit of the first one is left to its ttl', async () => {
    const { clock, here, there, served, call, hold } = queue(2);
    const holder = await hold();
    const options = { kind: 'semaphore', permits: 2, ttl: '30s', wait: '60s' } as const;
    // Callers that need their whole ttl get a permit from the store only.
    const whole = { renew: false };
    const left = here.acquire('k', { ...options, ...whole, release: 'expire' });
    const calls = [call('first', here, whole)];
    await clock.pass(10);
    await (await left).release();
    calls.push(call('second', here, whole));
    await clock.pass(100);
    calls.push(call('other process', there));
    await clock.pass(100);
    await holder.release();
    await clock.pass(500);
    await Promise.all(calls);
    expect(served).toEqual(['first', 'second', 'other process']);
  });

  it('are served in that order although callers with a place have left, and a permit is kept', async () => {
    const { clock, here, there, served, call, hold } = queue(2);
    const [one, other] = [await hold(), await hold()];
    const leaving = new AbortController();
    const calls = [];
    for (const name of ['a', 'b', 'c']) {
      calls.push(call(name, here, { signal: leaving.signal }));
      await clock.pass(30);
    }
    // The next caller keeps its permit, so the one behind it needs a place.
    calls.push(call('first', here, { minHold: 200 }));
    await clock.pass(30);
    leaving.abort();
    await clock.pass(30);
    calls.push(call('second', here));
    await clock.pass(100);
    calls.push(call('later', there));
    await clock.pass(30);
    await one.release();
    await clock.pass(50);
    await other.release();
    await clock.pass(500);
    await Promise.all(calls);
    expect(served).toEqual(['a left', 'b left', 'c left', 'first', 'second', 'later']);
  });
});
