import { setTimeout as sleep } from 'node:timers/promises';

import { eventually, within } from '../support/eventually.js';
import { monotonicMs } from './support/monotonic.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const CLAIM_WINDOW_MS = 1_750;
/** On a busy machine a waiter may wait too long before the release; the test tries again. */
const TRIES = 10;

describe('A waiter that starts on the message of an offer', () => {
  const world = useLockWorld();

  /** Returns the lease of a waiter whose commands have not reached the server since the lease began. */
  async function begin({ waitedMs = 0, delayMs = 0 } = {}) {
    for (let left = TRIES; left > 0; left -= 1) {
      const proxy = await world.proxy();
      const [holder, waiter] = [world.locks(), world.locks(proxy.url)];
      await waiter.engine.connect();
      const key = world.newKey();
      const before = await holder.acquire(key);
      const acquired = waiter.acquire(key, { wait: '20s' });
      await eventually(async () => expect(await world.waiting(key)).toBe(1));
      await sleep(waitedMs);
      proxy.delay(delayMs);
      proxy.hold('toServer');
      await before.release();
      const lease = await within(500, 'the message', acquired).catch(() => undefined);
      if (lease !== undefined) return { proxy, key, lease };
      await proxy.resume();
      await (await acquired).release();
    }
    throw new Error('No waiter started before a command of it reached the server.');
  }

  it('has a lease of its full ttl as soon as the server confirms it', async () => {
    const { proxy, key, lease } = await begin();
    expect(lease.isHeld()).toBe(true);
    expect(lease.remainingMs()).toBeLessThan(CLAIM_WINDOW_MS);
    await proxy.resume();
    await eventually(() => expect(lease.remainingMs()).toBeGreaterThan(CLAIM_WINDOW_MS));
    expect(await world.client.pttl(PREFIX + key)).toBeGreaterThan(CLAIM_WINDOW_MS);
    await lease.release();
    expect(await world.owner(key)).toBeNull();
  });

  it.each([
    // The wait makes the offer 300 ms younger than its token; the delay exceeds how late a timer may be on a busy
    // machine.
    ['', { waitedMs: 300 }],
    [' and its message was late', { waitedMs: 300, delayMs: 200 }],
  ])('is notified before the offer ends, when nothing passes%s', async (_, circumstances) => {
    const { proxy, key, lease } = await begin(circumstances);
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
    expect(await world.owner(key)).not.toBeNull();
    expect(lease.isHeld()).toBe(false);
    await proxy.resume();
  });

  it('is notified at once when the lock was deleted before the claim', async () => {
    const { proxy, key, lease } = await begin();
    const told = new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
    await world.client.del(PREFIX + key);
    const askedAt = monotonicMs();
    await proxy.resume();
    await told;
    expect(monotonicMs() - askedAt).toBeLessThan(CLAIM_WINDOW_MS);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
  });
});
