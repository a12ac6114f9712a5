import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { twoProcesses } from '../../../../test/support/manual-world.js';
import { runHolding } from './lease/held-leases.js';
import { LockService } from '../nest/lock.service.js';
import { LockStoreError } from '../store/lock-store.js';

describe('LockEngine', () => {
  const codeOf = (error: { code: string }): string => error.code;

  it('treats an expired lease as ended before its timer fires', async () => {
    const { clock, here } = twoProcesses();
    const outer = await here.acquire('k', { ttl: 1_000, renew: false });
    clock.jump(1_001);
    const inner = runHolding(outer, () => here.acquire('k', { reentrant: true, wait: '10s' }));
    await clock.pass(10);
    expect((await inner).isHeld()).toBe(true);
    expect((await inner).fencingToken).toBeGreaterThan(outer.fencingToken);
  });

  it('leaves no queue entry when a reader aborts after a non-waiting reader has arrived', async () => {
    const { clock, world, here, there } = twoProcesses();
    await there.acquire('k', { kind: 'write', ttl: '1h' });
    here.detours.acquire = async (ask) => {
      await ask();
      throw new LockStoreError('the connection broke.', true);
    };
    const leaving = new AbortController();
    const patient = here.acquire('k', { kind: 'read', wait: '10s', signal: leaving.signal }).catch(codeOf);
    await clock.pass(10);
    delete here.detours.acquire;
    const impatient = here.acquire('k', { kind: 'read' }).catch(codeOf);
    leaving.abort();
    await clock.pass(100);
    expect([await patient, await impatient]).toEqual(['LOCK_ABORTED', 'LOCK_CONTENDED']);
    expect((await world.store.inspect('k')).waiting).toBe(0);
  });

  it('requests a lease for a reader that arrives during the renewal of an older lease', async () => {
    const { clock, here } = twoProcesses();
    const old = await here.acquire('k', { kind: 'read', ttl: '2s' });
    const late = new LateAnswers();
    here.detours.renew = late.detour;
    const second = here.acquire('k', { kind: 'read', ttl: '1h', wait: '10s' });
    await clock.pass(10);
    delete here.detours.renew;
    await old.release();
    await clock.pass(10);
    expect((await second).isHeld()).toBe(true);
    const third = here.acquire('k', { kind: 'read', ttl: '3h', wait: '10s' });
    await clock.pass(10);
    late.arrive();
    await clock.pass(10);
    expect((await third).remainingMs()).toBeGreaterThan(7_200_000);
  });

  it.each([new AbortController(), null, 'signal'])(
    'rejects the invalid signal %p without counting a waiter',
    async (wrong) => {
      const { here } = twoProcesses();
      const locks = new LockService(() => here.engine);
      const signal = wrong as unknown as AbortSignal;
      for (let i = 0; i < 6; i += 1) {
        for (const key of [`a${i}`, [`b${i}`, `c${i}`]]) {
          await expect(locks.acquire(key, { signal, wait: 1_000 })).rejects.toMatchObject({
            code: 'LOCK_CONFIGURATION',
          });
        }
      }
      await (await locks.acquire('x')).release();
    },
  );
});
