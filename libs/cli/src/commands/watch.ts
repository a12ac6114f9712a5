import { setTimeout as sleep } from 'node:timers/promises';

import type { LockInspection, OpenedLocks } from 'nestjs-distribute-lock/core';

import { openLocks, OUTAGE_LIMIT_MS } from '../connection.js';
import { failure } from '../failures.js';
import type { Messages } from '../messages.js';
import { EXIT_CODES } from '../table.js';
import type { Execute } from './command.js';
import { inspectionText } from './inspection-text.js';

const EVERY_MS = 500;

/** Prints the state of a key, and each change of it until a signal ends the program. */
export const watch: Execute<'watch'> = async ({ key, values }, messages) => {
  try {
    const locks = await openLocks(values, messages, 'debug');
    const until = values.for === undefined ? Infinity : performance.now() + values.for;
    let last = '';
    let answeredAt = performance.now();
    do {
      const state = await answerOf(locks, key);
      if (state instanceof Error) {
        if (performance.now() - answeredAt > OUTAGE_LIMIT_MS) throw state;
        messages.say('warn', state.message);
      } else {
        answeredAt = performance.now();
        const now = changing(state);
        if (now !== last && !show(state, messages)) break;
        last = now;
      }
      await sleep(Math.max(0, Math.min(EVERY_MS, until - performance.now())));
    } while (performance.now() < until);
    await locks.close();
    return EXIT_CODES.success.code;
  } catch (error) {
    return failure(error, messages);
  }
};

function show(state: LockInspection, messages: Messages): boolean {
  const at = new Date().toISOString();
  return messages.result(`${at}  ${inspectionText(state)}`, { at, ...state });
}

async function answerOf(locks: OpenedLocks, key: string): Promise<LockInspection | Error> {
  try {
    return await locks.inspect(key);
  } catch (error) {
    if ((error as { code?: unknown }).code === 'LOCK_UNAVAILABLE') return error as Error;
    throw error;
  }
}

/** The state without its times, which always change. A holder that does not answer in time has no holds for a moment. */
const changing = ({ held, kind, permits, holders, waiting }: LockInspection): string =>
  JSON.stringify({
    held,
    kind,
    permits,
    waiting,
    holders: holders.map(({ process, holds }) => [process, holds.map((hold) => hold.fencingToken)]),
  });
