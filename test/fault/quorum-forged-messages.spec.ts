import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../support/eventually.js';
import { PREFIX } from './support/lock-engine.js';
import { useQuorumWorld } from './support/use-quorum-world.js';

const world = useQuorumWorld(3);
const EFFECT_MS = 300;

/** Publishes the texts to every inbox of every node. */
async function publishToAll(texts: readonly string[]): Promise<void> {
  for (const client of world.clients) {
    const channels = (await client.pubsub('CHANNELS', 'nestjs-lock:*')) as string[];
    expect(channels.length).toBeGreaterThan(0);
    for (const channel of channels) for (const text of texts) await client.publish(channel, text);
  }
  await sleep(EFFECT_MS);
}

describe('A forged message on a quorum (P22)', () => {
  it('does not delete the key of another client, and is counted', async () => {
    const { acquire, events } = world.locks();
    const lease = await acquire(world.newKey(), { ttl: '20s' });
    const key = world.newKey();
    for (const client of world.clients) await client.set(PREFIX + key, 'a-foreign-value');
    await publishToAll(['c', 'g', 'g5', 'v'].map((word) => `${word} a-foreign-value ${PREFIX}${key}`));
    expect(await Promise.all(world.clients.map((client) => client.get(PREFIX + key)))).toEqual(
      world.clients.map(() => 'a-foreign-value'),
    );
    await eventually(() => expect(events.filter(({ type }) => type === 'degraded')).toHaveLength(1));
    await lease.release();
  });

  it('does not start a waiter, also with its owner token, because only votes do', async () => {
    const [holder, waiter] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '20s' });
    let started = false;
    const waits = waiter.acquire(key, { ttl: '20s', wait: '10s' });
    void waits.finally(() => (started = true));
    const token = await eventually(async () => {
      const [first] = await world.clients[0].zrange(`q1:{${PREFIX}${key}}`, '0', '-1');
      expect(first).toBeDefined();
      return first;
    });
    await publishToAll([`g5 ${token} ${PREFIX}${key}`, `g5+ ${token} ${PREFIX}${key}`, `g ${token} ${PREFIX}${key}`]);
    expect([started, lease.isHeld()]).toEqual([false, true]);
    await lease.release();
    const next = await waits;
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    await next.release();
  });
});
