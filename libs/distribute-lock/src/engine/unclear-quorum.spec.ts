import { ManualClock } from '../../../../test/support/manual-clock.js';
import { LockEvents } from '../events.js';
import { LOCK_DEFAULTS, type LockOptions, resolveLockOptions } from '../options/lock-options.js';
import { LockStoreError } from '../store/lock-store.js';
import { MEMBERS } from '../store/protocol/reply-codes.js';
import type { NodeConnection, NodeReply } from '../store/quorum/node-connection.js';
import { QuorumLockStore } from '../store/quorum/quorum-lock-store.js';
import { LockEngine } from './lock-engine.js';

/** A node that does not respond, has given its vote to another owner, or gives it to the caller. */
class FakeNode implements NodeConnection {
  ready = true;
  readonly epoch = 0;
  readonly trouble = '';
  away = false;
  ownedBy: string | undefined;
  delayMs = 0;

  constructor(private readonly clock: ManualClock) {}

  async whenReady(): Promise<void> {}

  async run(_: string, [command, , , , id]: readonly (string | number)[]): Promise<NodeReply> {
    if (this.delayMs > 0) await new Promise<void>((resolve) => this.clock.after(this.delayMs, resolve));
    if (this.away) throw new LockStoreError('away', true);
    if (command === 'm') return [MEMBERS, 0, id];
    if (command === 'd') return [1, 0, 0];
    return this.ownedBy === undefined ? [1, 1, 0] : [0, 60_000, this.ownedBy];
  }

  silent(): void {}

  close(): void {}
}

describe('A call on a quorum with failed nodes', () => {
  const [HOLDER, STALE] = ['a', 'b'].map((letter) => `${letter.repeat(22)}:1`);

  const start = (count: number) => {
    const clock = new ManualClock();
    const nodes = Array.from({ length: count }, () => new FakeNode(clock));
    const store = new QuorumLockStore(
      nodes.map((connection) => ({ connection, inbox: { open: async () => undefined, close: () => undefined } })),
      clock,
    );
    const engine = new LockEngine(store, {
      ...{ defaults: LOCK_DEFAULTS, maxWaitersPerKey: 10, maxWaiters: 10 },
      ...{ events: new LockEvents(), clock },
    });
    const outcomeOf = (options: LockOptions): Promise<string> =>
      engine.acquire({ key: 'k', name: 'work', options: resolveLockOptions(options), scoped: false }).then(
        () => 'granted',
        (error: { code: string }) => error.code,
      );
    return { clock, nodes, outcomeOf };
  };

  /** No owner has a majority, but two nodes give no vote. */
  const startUnclear = () => {
    const made = start(3);
    made.nodes[0].away = true;
    made.nodes[1].ownedBy = STALE;
    return made;
  };

  it.each([undefined, 0, 600])(
    'is not refused because of a holder if no holder is known (waiter: %s)',
    async (agoMs) => {
      const { clock, outcomeOf } = startUnclear();
      if (agoMs !== undefined) {
        void outcomeOf({ wait: '10s' });
        await clock.pass(agoMs);
      }
      const call = outcomeOf({ wait: 0 });
      await clock.pass(2_000);
      expect(await call).toBe('LOCK_UNAVAILABLE');
    },
  );

  it('does not time out because of a holder if no holder is known', async () => {
    const { clock, outcomeOf } = startUnclear();
    const call = outcomeOf({ wait: '2s' });
    await clock.pass(4_000);
    expect(await call).toBe('LOCK_UNAVAILABLE');
  });

  it('gets the lock when the failed node responds again', async () => {
    const { clock, nodes, outcomeOf } = startUnclear();
    const call = outcomeOf({ wait: '5s' });
    await clock.pass(1_000);
    nodes[0].away = false;
    await clock.pass(1_000);
    expect(await call).toBe('granted');
  });

  it.each([0, 5])('is refused because of a holder whose last vote arrives %i ms late', async (delayMs) => {
    const { clock, nodes, outcomeOf } = start(5);
    for (const node of nodes.slice(0, 3)) node.ownedBy = HOLDER;
    nodes[2].delayMs = delayMs;
    nodes[3].ownedBy = STALE;
    nodes[4].away = true;
    const call = outcomeOf({ wait: 0 });
    await clock.pass(2_000);
    expect(await call).toBe('LOCK_CONTENDED');
  });
});
