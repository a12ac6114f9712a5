import { check, checkRising } from '../checks.js';
import { rule, type RuleText } from '../store-rule.js';
import { type StoreAttempt, LONG_MS, type Trial } from '../trial.js';

/** How leases end, and how fencing tokens rise. */
export const leaseRules: readonly RuleText[] = [
  rule('ends a lease when its ttl has passed, and not before', async (trial) => {
    const key = trial.key();
    const startedAt = performance.now();
    await trial.here(key).granted({ ttlMs: trial.shortMs });
    await trial.untilGranted(trial.there(key));
    const tookMs = performance.now() - startedAt;
    // Two clocks may differ by their resolution and their speed.
    check(tookMs >= trial.shortMs * 0.9 - 2, `a lease of ${trial.shortMs} ms`, tookMs);
  }),

  rule('does not shorten a lease by a repeated acquire', async (trial) => {
    const key = trial.key();
    const holder = trial.here(key);
    await holder.granted();
    await holder.granted({ ttlMs: trial.shortMs });
    await trial.untilEnded();
    await trial.there(key).refused();
  }),

  rule('does not shorten a lease by a renewal', async (trial) => {
    const key = trial.key();
    const holder = trial.here(key);
    await holder.granted();
    await renewed(holder, trial.shortMs);
    await trial.untilEnded();
    await trial.there(key).refused();
  }),

  rule('extends a lease by a renewal', async (trial) => {
    const key = trial.key();
    await renewedInTime(trial, trial.here(key));
    await trial.untilEnded();
    await trial.there(key).refused();
  }),

  rule('shortens a lease by an exact renewal', async (trial) => {
    const key = trial.key();
    const holder = trial.here(key);
    await holder.granted({ ttlMs: 10 * LONG_MS });
    const answer = await holder.renew(trial.shortMs, true);
    check(typeof answer === 'number', 'a number as the answer to an exact renewal', answer);
    await trial.untilGranted(trial.there(key));
  }),

  rule('does not restore an ended lease by a renewal', async (trial) => {
    const key = trial.key();
    const [late, next] = [trial.here(key), trial.there(key)];
    await late.granted({ ttlMs: trial.shortMs });
    await trial.untilGranted(next);
    await next.freed();
    await late.holdsNothing();
    await trial.elsewhere(key).granted();
  }),

  rule('protects a new holder from late commands of the previous one', async (trial) => {
    const key = trial.key();
    const [late, next] = [trial.here(key), trial.there(key)];
    await late.granted({ ttlMs: trial.shortMs });
    await trial.untilGranted(next);
    await late.lost();
    await late.holdsNothing();
    await next.holds();
    await trial.elsewhere(key).refused();
  }),

  rule('answers renewals in the order of their requests', async (trial) => {
    const [first, second] = [trial.here(trial.key()), trial.here(trial.key())];
    await first.granted();
    await second.granted();
    const absent = trial.here(trial.key());
    const { store } = trial.processes[0];
    const answers = await store.renew([first, absent, second].map((one) => one.request()));
    const kinds = answers.map((answer) => typeof answer);
    check(kinds.join() === 'number,string,number', 'a number, lost or taken, a number', answers);
    const none = await store.renew([]);
    check(none.length === 0, 'no answer without a request', none);
  }),

  rule(
    'renews one lease as it renews several',
    async (trial) => {
      const key = trial.key();
      const holder = trial.here(key);
      const { store } = trial.processes[0];
      await holder.granted();
      const held = await store.renewOne?.(holder.request());
      check(typeof held === 'number', 'a number as the answer to a renewal by the holder', held);
      const other = await store.renewOne?.(trial.here(key).request());
      check(other === 'lost' || other === 'taken', 'lost or taken as the answer to another token', other);
    },
    'renewOne',
  ),

  rule('raises the fencing token with every grant of a key', async (trial) => {
    const key = trial.key();
    const tokens: number[] = [];
    for (const one of [trial.here(key), trial.there(key), trial.here(key)]) {
      tokens.push(await one.granted());
      await one.freed();
    }
    tokens.push(await trial.elsewhere(key).granted({ ttlMs: trial.shortMs }));
    tokens.push(await trial.untilGranted(trial.there(key)));
    checkRising(tokens, 'fencing tokens, after releases and after the end of a lease');
  }),

  rule('reserves as many fencing tokens as the request names', async (trial) => {
    const key = trial.key();
    const [one, other] = [trial.here(key), trial.there(key)];
    const first = await one.granted({ block: 8 });
    await one.freed();
    const next = await other.granted({ block: 3 });
    check(next > first + 7, `a fencing token above ${first + 7}`, next);
    await other.freed();
    const last = await trial.elsewhere(key).granted();
    check(last > next + 2, `a fencing token above ${next + 2}`, last);
  }),
];

async function renewed(holder: StoreAttempt, ttlMs: number): Promise<void> {
  const answer = await holder.renew(ttlMs);
  check(typeof answer === 'number', 'a number as the answer to a renewal by the holder', answer);
}

/** On a slow machine a short lease may end before its renewal, so it becomes longer with each try. */
async function renewedInTime(trial: Trial, holder: StoreAttempt): Promise<void> {
  for (let ttlMs = trial.shortMs; ; ttlMs *= 2) {
    await holder.granted({ ttlMs });
    const answer = await holder.renew();
    if (typeof answer === 'number') return;
    check(ttlMs < 32 * trial.shortMs, 'a number as the answer to a renewal by the holder', answer);
  }
}
