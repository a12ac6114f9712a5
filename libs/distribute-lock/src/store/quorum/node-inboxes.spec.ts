import { ManualClock, settled } from '../../../../../test/support/manual-clock.js';
import { Timers } from '../../runtime/timers.js';
import { LockStoreError } from '../lock-store.js';
import { NodeInboxes } from './node-inboxes.js';

describe('The subscriptions to the nodes of a quorum', () => {
  const listener = { message: () => undefined, resubscribed: () => undefined };

  it('keep nothing of a call that failed, and resolve the next one', async () => {
    const clock = new ManualClock();
    let away = true;
    const open = (): Promise<void> => (away ? Promise.reject(new LockStoreError('away', true)) : Promise.resolve());
    const inboxes = new NodeInboxes(
      [1, 2, 3].map(() => ({ open, close: () => undefined })),
      new Timers(clock),
    );
    for (let calls = 0; calls < 5; calls += 1) {
      const failed = expect(inboxes.open('p', listener)).rejects.toThrow('no majority');
      await clock.pass(300);
      await failed;
    }
    expect((inboxes as unknown as { readonly waiting: ReadonlySet<unknown> }).waiting.size).toBe(0);
    away = false;
    await clock.pass(5_000);
    await settled();
    await inboxes.open('p', listener);
  });
});
