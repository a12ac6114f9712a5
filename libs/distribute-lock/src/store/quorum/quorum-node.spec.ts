import { ManualClock } from '../../../../../test/support/manual-clock.js';
import { Timers } from '../../runtime/timers.js';
import { LockStoreError } from '../lock-store.js';
import { COMMAND_LIMIT_MS } from '../redis/link.js';
import type { NodeConnection } from './node-connection.js';
import { QuorumNode, type StepResult } from './quorum-node.js';

const REASON = 'Redis is not connected (connecting with TLS).';

/** A connection that never opens. Its timers are not those of the node. */
function closedConnection(clock: ManualClock): NodeConnection {
  return {
    ready: false,
    epoch: 0,
    trouble: '',
    whenReady: (limitMs) =>
      new Promise((_, reject) => {
        clock.after(limitMs + 1, () => reject(new LockStoreError(REASON, true, { sent: false })));
      }),
    run: async () => [1, 1, 0],
    close: () => undefined,
  };
}

describe('QuorumNode', () => {
  // Both limits are rounded up to whole milliseconds, so that of the connection may end a millisecond later.
  it('reports why the connection did not open, also when its limit ends last', async () => {
    const clock = new ManualClock();
    const node = new QuorumNode(closedConnection(clock), clock, new Timers(clock), () => undefined);
    const results: StepResult[] = [];
    node.run('a', [], COMMAND_LIMIT_MS, (result) => results.push(result));
    await clock.pass(COMMAND_LIMIT_MS);
    clock.turn();
    await clock.pass(1);
    expect(results).toMatchObject([{ reply: { message: REASON, sent: false }, late: false }]);
  });
});
