import { randomBytes } from 'node:crypto';

import type { AcquireAnswer, LockMessage, LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import type { World } from './world.js';

const TTL = 20_000;

/** A process with its own store. */
interface Listener {
  readonly store: LockStore;
  readonly messages: LockMessage[];
  token(sequence: number): string;
  ask(key: string, sequence: number, wait?: boolean): PromiseLike<AcquireAnswer>;
}

/** The rules of a store without hand-over: a release notifies the next process. */
export function describeMessagesContract(world: World): void {
  let count = 0;
  const newKey = (): string => `telling-${(count += 1)}`;

  async function listener(): Promise<Listener> {
    const processId = randomBytes(16).toString('base64url');
    const store = world.store();
    onCleanup(() => store.close());
    const messages: LockMessage[] = [];
    await store.subscribe(processId, { message: (message) => messages.push(message), resubscribed: () => undefined });
    const token = (sequence: number): string => `${processId}:${sequence}`;
    return {
      store,
      messages,
      token,
      ask: (key, sequence, wait = false) =>
        store.acquire({ key, ownerToken: token(sequence), ttlMs: TTL, wait, block: 1 }),
    };
  }

  it('notifies the holder of a waiter, and the waiter of the release', async () => {
    const [holder, waiter] = [await listener(), await listener()];
    const key = newKey();
    await holder.ask(key, 1);
    expect(await waiter.ask(key, 1, true)).toMatchObject({ outcome: 'queued', foreign: false });
    const contended = { type: 'contended', key, ownerToken: holder.token(1) };
    await eventually(() => expect(holder.messages).toContainEqual(contended));
    expect(await holder.store.renew([{ key, ownerToken: holder.token(1), ttlMs: TTL }])).toEqual([1]);

    expect(await holder.store.release({ key, ownerToken: holder.token(1) })).toEqual({ outcome: 'passed' });
    const granted = { type: 'granted', key, ownerToken: waiter.token(1) };
    await eventually(() => expect(waiter.messages).toContainEqual(granted));
    expect(await world.owner(key)).toBeUndefined();
    expect(await waiter.ask(key, 1, true)).toMatchObject({ outcome: 'granted', waiting: 0 });
    expect(await world.owner(key)).toBe(waiter.token(1));
    expect(new Set(waiter.messages.map(({ type }) => type))).toEqual(new Set(['granted']));
    await waiter.store.release({ key, ownerToken: waiter.token(1) });
  });

  it('skips a waiter whose process is gone, and notifies the next one', async () => {
    const [holder, waiter] = [await listener(), await listener()];
    const key = newKey();
    await holder.ask(key, 1);
    const gone = `${randomBytes(16).toString('base64url')}:1`;
    await waiter.store.acquire({ key, ownerToken: gone, ttlMs: TTL, wait: true, block: 1 });
    await waiter.ask(key, 1, true);
    expect(await holder.store.release({ key, ownerToken: holder.token(1) })).toEqual({ outcome: 'passed' });
    await eventually(() =>
      expect(waiter.messages).toContainEqual(
        expect.objectContaining({ type: 'granted', key, ownerToken: waiter.token(1) }),
      ),
    );
    await waiter.store.release({ key, ownerToken: waiter.token(1) });
    await waiter.store.release({ key, ownerToken: gone });
  });

  it('does not notify a waiter that has left', async () => {
    const [holder, waiter] = [await listener(), await listener()];
    const key = newKey();
    await holder.ask(key, 1);
    await waiter.ask(key, 1, true);
    expect(await waiter.store.release({ key, ownerToken: waiter.token(1) })).toMatchObject({ outcome: 'lost' });
    expect(await world.waiting(key)).toBe(0);
    expect(await holder.store.release({ key, ownerToken: holder.token(1) })).toEqual({ outcome: 'free' });
  });

  it('grants a free lock to the first caller', async () => {
    const [holder, waiter] = [await listener(), await listener()];
    const key = newKey();
    await holder.ask(key, 1);
    await waiter.ask(key, 1, true);
    await world.overwrite(key, undefined);
    expect(await holder.ask(key, 2)).toMatchObject({ outcome: 'granted', waiting: 1 });
    for (const sequence of [1, 2]) await holder.store.release({ key, ownerToken: holder.token(sequence) });
    await waiter.store.release({ key, ownerToken: waiter.token(1) });
  });

  it('queues the next attempt of the releaser, which asks again after the notified waiter had its turn', async () => {
    const [holder, waiter] = [await listener(), await listener()];
    const key = newKey();
    await holder.ask(key, 1);
    await waiter.ask(key, 1, true);
    const next = { ownerToken: holder.token(2), ttlMs: TTL, block: 5 };
    const answer = await holder.store.release({ key, ownerToken: holder.token(1), next });
    expect(answer).toMatchObject({ outcome: 'queued' });
    if (answer.outcome === 'queued') expect(answer.remainingMs).toBeGreaterThan(50);
    await waiter.ask(key, 1, true);
    expect(await waiter.store.release({ key, ownerToken: waiter.token(1) })).toEqual({ outcome: 'passed' });
    await eventually(() =>
      expect(holder.messages).toContainEqual(
        expect.objectContaining({ type: 'granted', key, ownerToken: holder.token(2) }),
      ),
    );
    expect(await holder.ask(key, 2, true)).toMatchObject({ outcome: 'granted' });
    await holder.store.release({ key, ownerToken: holder.token(2) });
  });

  it('makes the next attempt ask at once without other waiters', async () => {
    const holder = await listener();
    const key = newKey();
    await holder.ask(key, 1);
    const next = { ownerToken: holder.token(2), ttlMs: TTL, block: 5 };
    expect(await holder.store.release({ key, ownerToken: holder.token(1), next })).toEqual({ outcome: 'free' });
    expect(await holder.ask(key, 2, true)).toMatchObject({ outcome: 'granted', waiting: 0 });
    await holder.store.release({ key, ownerToken: holder.token(2) });
  });
}
