import { LockService } from '../../libs/distribute-lock/src/service/lock.service.js';
import { expectBelow } from './support/bound.js';
import { monotonicMs } from './support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

/** The library waits 100 ms for the answer to a release; the rest is for a busy machine. */
const NO_LATER_THAN_MS = 250;

describe('P17: the result or error of the work is never replaced or delayed by a failing release', () => {
  const world = useLockWorld();

  /** Runs work under a lock of which the network breaks before it ends. */
  async function run(
    work: () => string,
    fault: 'hold' | 'cut' | 'forbid',
  ): Promise<{ result: unknown; tookMs: number; events: string[] }> {
    const proxy = await world.proxy();
    const username = `worker-${fault}`;
    await world.client.call('ACL', 'SETUSER', username, 'on', '>secret', '~*', '&*', '+@all');
    const locks = world.locks({ host: '127.0.0.1', port: proxy.port, username, password: 'secret' });
    let endedAt = 0;
    const result: unknown = await new LockService(locks.core)
      .withLock(world.newKey(), async () => {
        if (fault === 'forbid') await world.client.call('ACL', 'SETUSER', username, '-evalsha', '-eval');
        else if (fault === 'hold') proxy.hold();
        else {
          proxy.refuse();
          proxy.cut();
        }
        endedAt = monotonicMs();
        return work();
      })
      .catch((error: unknown) => error);
    return { result, tookMs: monotonicMs() - endedAt, events: locks.events.map(({ type }) => type) };
  }

  const fails = (): never => {
    throw new RangeError('of the work itself');
  };

  it.each(['hold', 'cut', 'forbid'] as const)('when the release meets "%s"', async (fault) => {
    const good = await run(() => 'the result', fault);
    expect(good.result).toBe('the result');
    expectBelow(good.tookMs, NO_LATER_THAN_MS);
    const bad = await run(fails, fault);
    expect(bad.result).toEqual(new RangeError('of the work itself'));
    expectBelow(bad.tookMs, NO_LATER_THAN_MS);
  });
});
