import { check, expectOutcome } from '../checks.js';
import { rule, type RuleText } from '../store-rule.js';
import { LONG_MS } from '../trial.js';

/** How waiters get the lock. */
export const waitingRules: readonly RuleText[] = [
  rule('queues a waiter, and serves it after the release', async (trial) => {
    const key = trial.key();
    const [holder, waiter] = [trial.here(key), trial.there(key)];
    await holder.granted();
    await waiter.queued();
    await holder.holds();
    await holder.freed();
    await trial.untilGranted(waiter, { wait: true });
    await waiter.holds();
    await holder.holdsNothing();
  }),

  rule('forgets a waiter that leaves', async (trial) => {
    const key = trial.key();
    const [holder, waiter] = [trial.here(key), trial.there(key)];
    await holder.granted();
    await waiter.queued();
    await waiter.lost();
    await holder.freed();
    await trial.elsewhere(key).granted();
    await waiter.holdsNothing();
  }),

  rule('serves other callers although a waiter has vanished', async (trial) => {
    const key = trial.key();
    const [holder, vanished] = [trial.here(key), trial.there(key)];
    await holder.granted();
    await vanished.queued();
    await holder.freed();
    await trial.untilGranted(trial.elsewhere(key), { wait: true });
  }),

  rule('accepts the next attempt of the process with a release', async (trial) => {
    const key = trial.key();
    const [holder, next, other] = [trial.here(key), trial.here(key), trial.there(key)];
    const first = await holder.granted();
    const { ownerToken } = next;
    const answer = await holder.release({ next: { ownerToken, ttlMs: LONG_MS, block: 4 } });
    expectOutcome(answer, 'a release with a next attempt', 'free', 'passed', 'queued', 'granted');
    if (answer.outcome === 'granted') {
      check(answer.ownerToken === ownerToken, `a grant of ${ownerToken}`, answer);
      check(answer.fencingToken > first, `a fencing token above ${first}`, answer);
      await next.holds();
    }
    await trial.untilGranted(next, { wait: true });
    await holder.holdsNothing();
    await other.refused();
    await next.freed();
    await trial.untilGranted(other);
  }),

  rule('ignores the next attempt of a release by a token that holds nothing', async (trial) => {
    const key = trial.key();
    const [late, next, holder] = [trial.here(key), trial.here(key), trial.there(key)];
    const more = { next: { ownerToken: next.ownerToken, ttlMs: LONG_MS, block: 1 } };
    await late.lost(more);
    await holder.granted();
    await late.lost(more);
    await next.holdsNothing();
    await holder.holds();
    await holder.freed();
    await trial.elsewhere(key).granted();
  }),

  rule(
    'notifies the holder of a waiter, and the waiter of the release',
    async (trial) => {
      const key = trial.key();
      const [holder, waiter] = [trial.here(key), trial.there(key)];
      await holder.granted();
      await waiter.queued();
      await trial.untilNotified(holder, 'contended');
      await holder.freed();
      await trial.untilNotified(waiter, 'granted');
      await trial.untilGranted(waiter, { wait: true });
    },
    'messages',
  ),

  rule(
    'serves waiters in the order of their attempts, before new callers',
    (trial) =>
      trial.promptly(async (key) => {
        const [holder, first, second] = [trial.here(key), trial.there(key), trial.elsewhere(key)];
        await holder.granted();
        await first.queued();
        await second.queued();
        await holder.freed();
        await trial.here(key).refused();
        await second.queued();
        await first.granted({ wait: true });
        await first.freed();
        await trial.here(key).refused();
        await second.granted({ wait: true });
      }),
    'order',
  ),

  rule(
    'grants the lock to the own process with a release if it waits first',
    (trial) =>
      trial.promptly(async (key) => {
        const [holder, own, other] = [trial.here(key), trial.here(key), trial.there(key)];
        await holder.granted();
        await own.queued();
        await other.queued();
        const answer = await holder.release({ grantOwn: { ttlMs: LONG_MS, block: 1 } });
        const granted = expectOutcome(answer, 'a release with grantOwn', 'granted');
        check(granted.ownerToken === own.ownerToken, `a grant of ${own.ownerToken}`, answer);
        await own.holds();
        await other.queued();
      }),
    'order',
  ),
];
