import { ManualClock, settled } from '../../../../../test/support/manual-clock.js';
import { LockStoreError } from '../lock-store.js';
import { MEMBERS } from '../protocol/reply-codes.js';
import type { NodeConnection, NodeReply } from './node-connection.js';
import { QuorumLockStore } from './quorum-lock-store.js';

/** A node that gives every vote unless it is unavailable, another owner has the vote, or it lost its data. */
class FakeConnection implements NodeConnection {
  ready = true;
  readonly epoch = 0;
  readonly trouble = '';
  away = false;
  theirs = false;
  forgot = false;
  hadOther = false;

  async whenReady(): Promise<void> {}

  async run(_: string, [command, , , , id]: readonly (string | number)[]): Promise<NodeReply> {
    if (this.away) throw new LockStoreError('away', true);
    if (command === 'm') return [MEMBERS, 0, id];
    if (command === 'n' && this.forgot) return [0, 0, 0];
    if (command === 'n') return [1, 1, this.hadOther ? 1 : 0];
    return [this.theirs ? 0 : 1, 1, 0];
  }

  silent(): void {}

  close(): void {}
}

describe('QuorumLockStore', () => {
  const TTL_MS = 5_000;
  /** Also returns the number of owners in memory. */
  const make = () => {
    const clock = new ManualClock();
    const connections = [new FakeConnection(), new FakeConnection(), new FakeConnection()];
    const store = new QuorumLockStore(
      connections.map((connection) => ({ connection, inbox: { open: async () => undefined, close: () => undefined } })),
      clock,
    );
    const remembered = (): number => (store as unknown as { candidates: Map<string, unknown> }).candidates.size;
    const name = { key: 'k', ownerToken: `${'p'.repeat(22)}:1` };
    const acquire = () => store.acquire({ ...name, ttlMs: TTL_MS, block: 1, wait: false });
    return { clock, connections, store, name, acquire, remembered };
  };

  it('counts a late vote after the next renewal reaches a majority without it', async () => {
    const { connections, store, name, acquire } = make();
    const renew = async () => {
      const [answer] = await store.renew([{ ...name, ttlMs: TTL_MS }]);
      await settled();
      return answer;
    };
    const [first, second, third] = connections;
    third.theirs = true;
    await acquire();
    third.theirs = false;
    expect(await renew()).toBe(1); // afterwards the store requests the third vote
    second.forgot = true;
    // The third vote did not count yet when the second was lost, so another owner may have had a majority.
    expect(await renew()).toBe('lost');
    second.forgot = false;
    await store.release(name);

    third.theirs = true;
    await acquire();
    third.theirs = false;
    expect([await renew(), await renew()]).toEqual([1, 1]);
    first.forgot = true;
    expect(await renew()).toBe(1);
  });

  it('does not count the vote of a node that knows a larger fencing token', async () => {
    const { connections, store, name, acquire } = make();
    const renew = async () => (await store.renew([{ ...name, ttlMs: TTL_MS }]))[0];
    const [, second, third] = connections;
    await acquire();
    third.hadOther = true;
    expect(await renew()).toBe(1);
    // With the vote that the second node has lost, another owner may have had a majority before the third vote came.
    second.forgot = true;
    expect(await renew()).toBe('lost');
  });

  it.each([
    ['fails', { away: true }],
    ['is not connected', { ready: false, whenReady: () => new Promise<void>(() => undefined) }],
  ])('reports a failure while no holder is known and a node %s', async (_, fault) => {
    const { clock, connections, acquire } = make();
    const [first, second, third] = connections;
    first.theirs = true;
    Object.assign(second, fault);
    const failed = acquire().catch((error: unknown) => error);
    await clock.pass(1_000);
    expect(await failed).toMatchObject({ passing: true, votes: { granted: 1, refused: 1, failed: 1 } });
    third.theirs = true;
    expect(await acquire()).toMatchObject({ outcome: 'busy' });
  });

  it('remembers an owner until its release', async () => {
    const { store, name, acquire, remembered } = make();
    expect(await acquire()).toMatchObject({ outcome: 'granted' });
    expect(remembered()).toBe(1);
    expect(await store.release(name)).toMatchObject({ outcome: 'passed' });
    expect(remembered()).toBe(0);
  });

  it('forgets an owner whose lease was left to its ttl, counted from the last renewal', async () => {
    const { clock, store, name, acquire, remembered } = make();
    await acquire();
    await clock.pass(TTL_MS);
    await store.renew([{ ...name, ttlMs: 2 * TTL_MS }]);
    await clock.pass(TTL_MS + 10_000);
    expect(remembered()).toBe(1);
    await clock.pass(TTL_MS);
    expect(remembered()).toBe(0);
  });

  it('forgets an owner whose release reached no majority', async () => {
    const { clock, connections, store, name, acquire, remembered } = make();
    await acquire();
    for (const connection of connections) connection.away = true;
    await expect(store.release(name)).rejects.toThrow('3 failed or did not respond');
    await settled();
    expect(remembered()).toBe(1);
    await clock.pass(TTL_MS + 10_000);
    expect(remembered()).toBe(0);
  });
});
