import { LateAnswers, LateCommand } from '../../../../test/support/held-up-store.js';
import { twoProcesses } from '../../../../test/support/manual-world.js';
import { EXECUTION_LIMIT_MS } from '../store/protocol.js';

describe('A second grant of a lease whose release is in flight', () => {
  /** A caller begins by the release of its predecessor, while its heartbeat is in flight. */
  const beginBesideHeartbeat = async () => {
    const { clock, here, there } = twoProcesses();
    const strict = { kind: 'write', fair: 'strict', wait: '10s', ttl: 30_000 } as const;
    const first = await here.acquire('k', strict);
    const waiting = here.acquire('k', strict);
    await clock.pass(1);
    const heartbeat = new LateCommand();
    here.detours.acquire = heartbeat.detour;
    await clock.pass(2_000);
    await first.release();
    return { clock, here, there, heartbeat, lease: await waiting };
  };

  it('is not undone before the release, whose answer would then be a loss', async () => {
    const { clock, here, there, heartbeat, lease } = await beginBesideHeartbeat();
    const late = new LateCommand();
    here.detours.release = late.detour;
    const released = lease.release();
    delete here.detours.release; // an undo of the token is not late
    heartbeat.execute();
    await clock.pass(1);
    late.execute();
    await released;
    expect(here.events.filter(({ type }) => type === 'lost')).toEqual([]);
    expect(lease.signal.aborted).toBe(false);
    await (await there.acquire('k')).release();
  });

  it('is undone later, because the store may have executed the release first', async () => {
    const { clock, here, there, heartbeat, lease } = await beginBesideHeartbeat();
    const late = new LateAnswers();
    here.detours.release = late.detour;
    const released = lease.release();
    delete here.detours.release;
    await clock.pass(1);
    heartbeat.execute();
    await clock.pass(1);
    late.arrive();
    await released;
    await expect(there.acquire('k')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await clock.pass(EXECUTION_LIMIT_MS + 100);
    await (await there.acquire('k')).release();
  });
});
