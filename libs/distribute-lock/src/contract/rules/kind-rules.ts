import { setImmediate as turn } from 'node:timers/promises';

import { check } from '../checks.js';
import { rule, type RuleText } from '../store-rule.js';
import { type StoreAttempt, LONG_MS, type StoreProcess, type Trial, type Wanted } from '../trial.js';

const READ: Wanted = { kind: 'read' };
const WRITE: Wanted = { kind: 'write' };
const permits = (weight = 1, all = 3): Wanted => ({ kind: 'semaphore', permits: all, weight });

const reading = (name: string, test: (trial: Trial) => Promise<void>): RuleText => rule(name, test, 'read');
const counting = (name: string, test: (trial: Trial) => Promise<void>): RuleText => rule(name, test, 'semaphore');

/** Readers and writers, and permits. */
export const kindRules: readonly RuleText[] = [
  reading('lets readers share the lock, and refuses writers', async (trial) => {
    const key = trial.key();
    const readers = [trial.here(key, READ), trial.there(key, READ), trial.there(key, READ)];
    for (const reader of readers) await reader.granted();
    for (const other of [WRITE, {}]) await trial.elsewhere(key, other).refused();
    const last = readers.pop() as StoreAttempt;
    for (const reader of readers) await reader.freed();
    await trial.elsewhere(key, WRITE).refused();
    await last.freed();
    await trial.elsewhere(key, WRITE).granted();
  }),

  reading('refuses readers and writers while a writer holds the lock', async (trial) => {
    for (const kind of [WRITE, {}]) {
      const key = trial.key();
      await trial.here(key, kind).granted();
      for (const other of [READ, WRITE, {}]) await trial.there(key, other).refused();
    }
  }),

  reading('ends the lease of one reader without the others', async (trial) => {
    const key = trial.key();
    const [short, long] = [trial.here(key, READ), trial.there(key, READ)];
    await short.granted({ ttlMs: trial.shortMs });
    await long.granted();
    await trial.untilEnded();
    await short.holdsNothing();
    await short.lost();
    await long.holds();
    await trial.elsewhere(key, WRITE).refused();
  }),

  reading('turns a writer into a reader, and repeats it', async (trial) => {
    const key = trial.key();
    const [writer, reader] = [trial.here(key, WRITE), trial.here(key, READ)];
    await writer.granted();
    const request = { ...writer.request(), readToken: reader.ownerToken, ttlMs: LONG_MS };
    for (let times = 0; times < 2; times += 1) {
      const answer = await writer.process.store.downgrade?.(request);
      check(typeof answer === 'number', 'a number as the answer to a downgrade by the writer', answer);
    }
    await writer.holdsNothing();
    await reader.holds();
    await trial.there(key, WRITE).refused();
    await trial.there(key, READ).granted();
  }),

  counting('grants permits by weight, up to their number', async (trial) => {
    const key = trial.key();
    const [two, one] = [trial.here(key, permits(2)), trial.there(key, permits())];
    await two.granted();
    await one.granted();
    await trial.elsewhere(key, permits()).refused();
    await one.freed();
    await trial.elsewhere(key, permits(2)).refused();
    await trial.elsewhere(key, permits()).granted();
  }),

  counting('never has more permits in use than there are, under load', async (trial) => {
    const work = { key: trial.key(), inside: 0 };
    const workers = trial.processes.flatMap((process) => [process, process]);
    await Promise.all(workers.map((process) => takePermits(trial, process, work)));
  }),

  counting('takes back the permits of a lease that has ended', async (trial) => {
    const key = trial.key();
    const [short, long] = [trial.here(key, permits(2)), trial.there(key, permits())];
    await short.granted({ ttlMs: trial.shortMs });
    await long.granted();
    await trial.untilGranted(trial.elsewhere(key, permits(2)));
    await short.lost();
    await short.holdsNothing();
    await trial.here(key, permits()).refused();
    await long.holds();
  }),

  counting('never holds a semaphore and another kind of one key', async (trial) => {
    const key = trial.key();
    const holder = trial.here(key, permits());
    await holder.granted();
    await trial.there(key).refused();
    await holder.freed();
    const exclusive = trial.there(key);
    await trial.untilGranted(exclusive);
    await trial.here(key, permits()).refused();
  }),
];

const ROUNDS = 4;

async function takePermits(
  trial: Trial,
  process: StoreProcess,
  work: { readonly key: string; inside: number },
): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const attempt = trial.attempt(process, work.key, permits(1, 2));
    await trial.untilGranted(attempt);
    work.inside += 1;
    await turn();
    check(work.inside <= 2, 'two permits in use at most', work.inside);
    work.inside -= 1;
    await attempt.freed();
  }
}
