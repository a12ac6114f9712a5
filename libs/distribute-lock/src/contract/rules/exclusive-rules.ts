import { setImmediate as turn } from 'node:timers/promises';

import { check, checkRising, expectOutcome } from '../checks.js';
import { rule, type RuleText } from '../store-rule.js';
import { type StoreAttempt, LONG_MS, type StoreProcess, type Trial } from '../trial.js';

/** Names that a store could confuse, by their case, their bytes or characters with a meaning. */
const ENDINGS = ['', 'a', 'A', ' a', ':a', ':ä', ':🔒', '%61', '\\', `'";--`, '*', 'x'.repeat(200)];

/** Grants, refusals and releases of exclusive locks. */
export const exclusiveRules: readonly RuleText[] = [
  rule('grants a free lock', async (trial) => {
    const answer = await trial.here(trial.key()).acquire();
    const { fencingToken, waiting } = expectOutcome(answer, 'an acquire of a free lock', 'granted');
    check(Number.isSafeInteger(fencingToken) && fencingToken > 0, 'a positive fencing token', answer);
    check(waiting === 0, 'no waiting process', answer);
  }),

  rule('refuses every other owner token while the lock is held', async (trial) => {
    const key = trial.key();
    await trial.here(key).granted();
    for (const other of [trial.here(key), trial.there(key), trial.elsewhere(key)]) await other.refused();
  }),

  rule('keeps the locks of different keys apart', async (trial) => {
    const base = trial.key();
    const { store } = trial.processes[0];
    const keys = ENDINGS.map((ending) => base + ending).filter((key) => store.keyFault?.(key) === undefined);
    const attempts = keys.map((key) => trial.here(key));
    for (const attempt of attempts) await attempt.granted();
    for (const attempt of attempts) await attempt.freed();
    for (const key of keys) await trial.there(key).granted();
  }),

  rule('gives a released lock to the next caller', async (trial) => {
    const key = trial.key();
    const holder = trial.here(key);
    await holder.granted();
    expectOutcome(await holder.release(), 'a release without waiters', 'free');
    await trial.there(key).granted();
  }),

  rule('answers lost to a release by a token that holds nothing', async (trial) => {
    const key = trial.key();
    const holder = trial.here(key);
    await holder.lost();
    await holder.granted();
    await holder.freed();
    await holder.lost();
  }),

  rule('grants the lock again to the token that holds it', async (trial) => {
    const key = trial.key();
    const holder = trial.here(key);
    const first = await holder.granted();
    const second = await holder.granted();
    check(second >= first, `a fencing token of at least ${first}`, second);
    await trial.there(key).refused();
    await holder.freed();
    await trial.there(key).granted();
  }),

  rule('lets only the holder release', async (trial) => {
    const key = trial.key();
    const holder = trial.here(key);
    await holder.granted();
    await trial.here(key).lost();
    await trial.there(key).lost();
    await holder.holds();
    await trial.there(key).refused();
  }),

  rule('lets only the holder renew', async (trial) => {
    const key = trial.key();
    await trial.here(key).holdsNothing();
    const holder = trial.here(key);
    await holder.granted();
    await trial.there(key).holdsNothing();
    await holder.freed();
    await holder.holdsNothing();
    await trial.there(key).granted();
  }),

  rule('grants the lock to at most one of many callers at the same time', async (trial) => {
    const key = trial.key();
    const callers = Array.from({ length: 16 }, () => [trial.here(key), trial.there(key)]).flat();
    const answers = await Promise.all(callers.map((caller) => caller.acquire()));
    const granted = answers.filter(({ outcome }) => outcome === 'granted');
    check(granted.length <= 1, 'one grant at most', granted);
  }),

  rule('admits one holder at a time, with rising fencing tokens, under load', async (trial) => {
    const key = trial.key();
    const tokens: number[] = [];
    const work = { key, tokens, inside: 0 };
    const workers = trial.processes.flatMap((process) => [process, process]);
    await Promise.all(workers.map((process) => takeTurns(trial, process, work)));
    checkRising(tokens, 'fencing tokens in the order of the grants');
  }),

  rule('keeps the locks of a process whose store was closed, until their leases end', async (trial) => {
    const key = trial.key();
    const leaving = await trial.open();
    const request = { key, ownerToken: `${leaving.id}:1`, ttlMs: LONG_MS, wait: false, block: 1 };
    expectOutcome(await leaving.store.acquire(request), 'an acquire', 'granted');
    await leaving.store.close();
    await trial.here(key).refused();
    await trial.processes[0].store.release(request);
  }),
];

const ROUNDS = 5;

async function takeTurns(
  trial: Trial,
  process: StoreProcess,
  work: { readonly key: string; readonly tokens: number[]; inside: number },
): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const attempt: StoreAttempt = trial.attempt(process, work.key);
    work.tokens.push(await trial.untilGranted(attempt));
    work.inside += 1;
    await turn();
    check(work.inside === 1, 'one holder', work.inside);
    work.inside -= 1;
    await attempt.freed();
  }
}
