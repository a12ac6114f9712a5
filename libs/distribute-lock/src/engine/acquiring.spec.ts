import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { twoProcesses } from '../../../../test/support/manual-world.js';
import { LockStoreError } from '../store/lock-store.js';

describe('Callers of one process for one key', () => {
  it('share one place in the store, and are served in order', async () => {
    const { clock, here, there } = twoProcesses();
    const lease = await there.acquire('k', { ttl: '30s' });
    const order: number[] = [];
    const waiting = [0, 1, 2].map((i) =>
      here.acquire('k', { ttl: '30s', wait: '20s' }).then((each) => (order.push(i), each)),
    );
    await clock.pass(5);
    expect(await there.engine.inspect('k')).toMatchObject({ waiting: 1 });
    await lease.release();
    for (const each of waiting) {
      await clock.pass(5);
      await (await each).release();
    }
    expect(order).toEqual([0, 1, 2]);
  });

  it('keep their place when the first of them leaves', async () => {
    const { clock, world, here, there } = twoProcesses();
    const lease = await there.acquire('k', { ttl: '30s' });
    const abort = new AbortController();
    const leaving = here
      .acquire('k', { wait: '20s', signal: abort.signal })
      .catch(({ code }: { code: string }) => code);
    const staying = here.acquire('k', { wait: '20s', ttl: '30s' });
    await clock.pass(5);
    const other = world.process().acquire('k', { wait: '20s', ttl: '30s' });
    await clock.pass(5);
    abort.abort();
    expect(await leaving).toBe('LOCK_ABORTED');
    await lease.release();
    await clock.pass(20);
    const order = await Promise.race([staying.then(() => 'staying'), other.then(() => 'other')]);
    expect(order).toBe('staying');
    await (await staying).release();
    await clock.pass(20);
    await (await other).release();
  });

  it('repeat a command that failed, within the wait', async () => {
    const { clock, here } = twoProcesses();
    let failures = 3;
    here.detours.acquire = (ask) => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(new LockStoreError('no answer', true)) : ask();
    };
    const acquiring = here.acquire('k', { wait: '20s' });
    await clock.pass(1_000);
    await (await acquiring).release();
    expect(failures).toBeLessThan(0);
  });

  it('are refused with the reason when the store does not answer for the whole wait', async () => {
    const { clock, here } = twoProcesses();
    here.detours.acquire = () => Promise.reject(new LockStoreError('no answer', true));
    const refused = here.acquire('k', { wait: '2s' }).catch((error: unknown) => error);
    await clock.pass(2_100);
    expect(await refused).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });
});

describe('Callers with strict fairness', () => {
  it('do not refuse another caller by an old answer while the attempt that was queued first has no new one', async () => {
    const { clock, here, there } = twoProcesses();
    const lease = await there.acquire('k', { ttl: '30s' });
    const waiting = [1, 2].map(() => here.acquire('k', { fair: 'strict', wait: '20s', ttl: '30s' }));
    await clock.pass(5);
    const late = new LateAnswers();
    here.detours.acquire = late.detour;
    await clock.pass(1_500);
    expect(late.size).toBe(1);
    const outcomes: string[] = [];
    const refused = here.acquire('k').catch(({ code }: { code: string }) => outcomes.push(code));
    await clock.pass(1);
    expect(outcomes).toEqual([]);
    delete here.detours.acquire;
    late.arrive();
    await clock.pass(1);
    await refused;
    expect(outcomes).toEqual(['LOCK_CONTENDED']);
    await lease.release();
    for (const each of waiting) {
      await clock.pass(20);
      await (await each).release();
    }
  });
});
