import { setTimeout as sleep } from 'node:timers/promises';

import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { monotonicMs } from '../support/monotonic.js';
import type { FightPlan } from './support/loops.js';
import { useLockWorld } from './support/use-lock-world.js';

/** The longest wait behind a process without messages. */
const MOST_MS = 1_500;
/** The longest hold of that process. */
const HOLD_MS = 200;
const FOR_MS = 3_000;
const WAIT = '10s';
const PASSWORD = 'secret';

describe('P12: a process that may not subscribe', () => {
  const world = useLockWorld();
  /** Its user may do everything except subscribe. */
  const processWithoutMessages = async () => {
    await world.client.call('ACL', 'SETUSER', 'deaf', 'on', `>${PASSWORD}`, '~*', '&*', '+@all', '-subscribe');
    const { port } = new URL(world.server.url);
    return world.process(`redis://deaf:${PASSWORD}@127.0.0.1:${port}`);
  };

  it.each<[string, Omit<FightPlan, 'key' | 'forMs' | 'holdMs'>, AcquireOptions]>([
    ['70 exclusive callers', { callers: 70, wait: '30s' }, { wait: WAIT }],
    ['5 readers, for a writer', { callers: 5, kind: 'read', wait: WAIT }, { kind: 'write', wait: WAIT }],
    [
      '10 callers for 2 permits',
      { callers: 10, kind: 'semaphore', permits: 2, wait: WAIT },
      { kind: 'semaphore', permits: 2, wait: WAIT },
    ],
  ])('lets another process in within 1.5 s: %s', async (_, busy, other) => {
    const deaf = await processWithoutMessages();
    const here = world.locks();
    const key = world.newKey();
    void deaf.do('fight', { key, forMs: 2 * FOR_MS, holdMs: HOLD_MS, ...busy });
    await sleep(HOLD_MS);
    const waits: number[] = [];
    const until = monotonicMs() + FOR_MS;
    while (monotonicMs() < until) {
      const since = monotonicMs();
      const lease = await here.acquire(key, other);
      waits.push(monotonicMs() - since);
      await lease.release();
    }
    expect(waits.length).toBeGreaterThan(1);
    expect(Math.max(...waits)).toBeLessThanOrEqual(MOST_MS + HOLD_MS);
  });
});
