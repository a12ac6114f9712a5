import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../../support/eventually.js';
import { expectBelow } from '../support/bound.js';
import type { Refusal } from '../support/lock-process.js';
import { monotonicMs } from '../../support/monotonic.js';
import type { TopologyWorld } from '../support/use-topology.js';

const SLACK_MS = 250;
const DRAIN_MS = 1_000;

/** The "Processes" rows of the fault matrix: killed, stopped, and terminated processes. */
export function describeProcessRows(world: TopologyWorld): void {
  const wait = '20s';

  it('a holder that is killed blocks the others no longer than its ttl', async () => {
    const ttl = 2_000;
    const [holder, ...others] = await Promise.all([world.process(), world.process(), world.process()]);
    const key = world.newKey();
    await holder.do('acquire', { key, ttl, wait: 5_000 });
    const waits = others.map(async (process) => {
      const granted = await process.do('acquire', { key, ttl, wait });
      await process.do('release', granted);
      return granted.at;
    });
    await eventually(async () => expect(await world.waiting(key)).toBe(2));
    const killedAt = monotonicMs();
    await holder.kill();
    const served = await Promise.all(waits);
    expectBelow(Math.min(...served) - killedAt, ttl + 1_000);
    await eventually(async () => expect(await world.left(key)).toBe(0));
  });

  it('a holder that was stopped for longer than its ttl is notified as soon as it runs again; another has the lock', async () => {
    const ttl = 1_000;
    const [stopped, other] = await Promise.all([world.process(), world.process()]);
    const key = world.newKey();
    const granted = await stopped.do('acquire', { key, ttl, wait: 5_000 });
    const loss = stopped.do('loss', granted);
    await stopped.do('isHeld', granted); // the process has executed the command before by now
    stopped.pause();
    const next = await other.do('acquire', { key, wait });
    await sleep(200);
    const resumedAt = monotonicMs();
    stopped.resume();
    expectBelow((await loss).at - resumedAt, SLACK_MS);
    expect(await loss).toMatchObject({ held: false, reason: 'LEASE_LOST' });
    expect(next.fencingToken).toBeGreaterThan(granted.fencingToken);
    expect(await other.do('isHeld', next)).toMatchObject({ held: true });
    await other.do('release', next);
  });

  it('a process that receives SIGTERM rejects its waiters, releases its leases, and ends', async () => {
    const [ending, other] = await Promise.all([world.process(), world.process()]);
    const [held, wanted] = [world.newKey(), world.newKey()];
    const mine = await ending.do('acquire', { key: held, wait: 5_000 });
    const theirs = await other.do('acquire', { key: wanted, wait: 5_000 });
    const loss = ending.do('loss', mine);
    const refusal = ending.do('acquire', { key: wanted, wait }).catch((error: unknown) => error);
    const next = other.do('acquire', { key: held, wait });
    await eventually(async () => expect(await world.waiting(held)).toBe(1));
    await eventually(async () => expect(await world.waiting(wanted)).toBe(1));
    void ending.do('shutDownOnSigterm', { drainTimeoutMs: DRAIN_MS });
    await ending.do('resources', undefined); // the process handles the signal by now

    const at = monotonicMs();
    process.kill(ending.pid, 'SIGTERM');

    expect(await refusal).toMatchObject({ code: 'LOCK_SHUTDOWN' });
    expectBelow(((await refusal) as Refusal).at - at, SLACK_MS);
    expect(await loss).toMatchObject({ held: false, reason: 'LOCK_SHUTDOWN' });
    await other.do('release', await next);
    expect(await ending.exited).toEqual({ code: 0, signal: null });
    expectBelow(monotonicMs() - at, DRAIN_MS + 1_000);
    await other.do('release', theirs);
    await eventually(async () => expect(await world.left(wanted)).toBe(0));
  });
}
