import type { LockState, LockStore } from '../../store/lock-store.js';
import { check, checkRising, eventually, expectOutcome } from '../checks.js';
import { rule, type RuleText } from '../store-rule.js';
import { type StoreAttempt, LONG_MS, type Trial } from '../trial.js';

/** Several keys at once, and what operators do. */
export const operationRules: readonly RuleText[] = [
  rule(
    'acquires several locks or none',
    async (trial) => {
      const [keys, store] = keysOfOneCall(trial);
      if (keys === undefined) return;
      const blocker = trial.there(keys[1]);
      await blocker.granted();
      const attempts = keys.map((key) => trial.here(key));
      expectOutcome(await acquireAll(store, attempts), 'an acquire of several locks, one of them held', 'busy');
      for (const attempt of attempts) await attempt.holdsNothing();
      await blocker.freed();
      for (let times = 0; times < 2; times += 1) {
        const answer = expectOutcome(await acquireAll(store, attempts), 'an acquire of several free locks', 'granted');
        check(answer.fencingTokens.length === keys.length, 'a fencing token for each lock', answer);
      }
      for (const attempt of attempts) await attempt.holds();
      for (const key of keys) await trial.elsewhere(key).refused();
    },
    'acquireAll',
  ),

  rule(
    'raises the fencing token of each key with an acquire of several',
    async (trial) => {
      const [keys, store] = keysOfOneCall(trial);
      if (keys === undefined) return;
      const before = trial.there(keys[2]);
      const tokens = [await before.granted()];
      await before.freed();
      const attempts = keys.map((key) => trial.here(key));
      const answer = expectOutcome(await acquireAll(store, attempts), 'an acquire of several free locks', 'granted');
      tokens.push(answer.fencingTokens[2]);
      for (const attempt of attempts) await attempt.freed();
      tokens.push(await trial.elsewhere(keys[2]).granted());
      checkRising(tokens, 'fencing tokens of one key');
    },
    'acquireAll',
  ),

  rule(
    'shows the holder of a lock, and changes nothing',
    async (trial) => {
      const key = trial.key();
      const free = await stateOf(trial, key);
      check(free.kind === 'free' && free.holders.length === 0 && free.waiting === 0, 'a free lock', free);
      const holder = trial.here(key);
      await holder.granted();
      for (let times = 0; times < 2; times += 1) {
        const held = await stateOf(trial, key);
        check(held.kind === 'exclusive', 'an exclusive lock', held);
        check(held.holders.join() === holder.ownerToken, `the holder ${holder.ownerToken}`, held);
        check(held.remainingMs > 0 && held.remainingMs <= LONG_MS, `at most ${LONG_MS} ms left`, held);
      }
      await holder.freed();
      check((await stateOf(trial, key)).kind === 'free', 'a free lock after the release', await stateOf(trial, key));
    },
    'inspect',
  ),

  rule(
    'releases a lock by force',
    async (trial) => {
      const key = trial.key();
      const force = async (only?: string) => trial.processes[1].store.force?.(key, only);
      check((await force()) === false, 'false for a free lock', true);
      const holder = trial.here(key);
      await holder.granted();
      check((await force(trial.here(key).ownerToken)) === false, 'false for another owner token', true);
      await holder.holds();
      check((await force()) === true, 'true for a held lock', false);
      await holder.holdsNothing();
      await trial.untilGranted(trial.elsewhere(key));
    },
    'force',
  ),

  rule(
    'takes a lock from its holder in one step',
    async (trial) => {
      const key = trial.key();
      const [holder, thief] = [trial.here(key), trial.there(key)];
      const first = await holder.granted();
      const second = await thief.granted({ steal: true });
      check(second > first, `a fencing token above ${first}`, second);
      await holder.holdsNothing();
      await holder.lost();
      await thief.holds();
    },
    'steal',
  ),

  rule(
    'delivers hints to every process',
    async (trial) => {
      const received: string[][] = [[], []];
      const hints = received.map((texts, i) => trial.processes[i]?.store.hints?.((text) => texts.push(text)));
      for (const each of hints) await each?.open();
      hints[0]?.publish('hint');
      await eventually(trial.limitMs, 'the hint in each process', async () =>
        received.every((texts) => texts.includes('hint')) ? true : undefined,
      );
      for (const each of hints) each?.close();
    },
    'hints',
  ),
];

const acquireAll = (store: LockStore, attempts: readonly StoreAttempt[]) =>
  store.acquireAll!(attempts.map((attempt) => attempt.request()));

async function stateOf(trial: Trial, key: string): Promise<LockState> {
  return trial.processes[2].store.inspect!(key);
}

/** Three keys that the store acquires in one call. A store that takes no such keys has only `acquire`. */
function keysOfOneCall(trial: Trial): readonly [readonly string[] | undefined, LockStore] {
  const { store } = trial.processes[0];
  const base = trial.key();
  const keys = ['a', 'b', 'c'].map((name) => `{${base}}${name}`);
  return [store.mayTakeAll?.(keys) === false ? undefined : keys, store];
}
