import { createInterface } from 'node:readline/promises';

import type { LockInspection } from 'nestjs-distribute-lock/core';

import { openLocks } from '../connection.js';
import { failure } from '../failures.js';
import { UsageError } from '../parse.js';
import { EXIT_CODES } from '../table.js';
import type { Execute } from './command.js';
import { detachedOf, inspectionText } from './inspection-text.js';

/** Ends the leases of a key after a question, because the work of its holders may still run, and tickets become useless. */
export const release: Execute<'release'> = async ({ key, values }, messages) => {
  const { force = false, yes = false } = values;
  if (!force) throw new UsageError('"release" takes the lock from its holder: add --force.');
  const asks = !yes;
  if (asks && !process.stdin.isTTY)
    throw new UsageError('Standard input is no terminal, so the question has no answer: add --yes.');
  try {
    const locks = await openLocks(values, messages, 'debug');
    try {
      const state = await locks.inspect(key);
      if (!state.held) {
        messages.result(`${key}: free, so no lease was ended`, { key, released: false });
        return EXIT_CODES.failure.code;
      }
      if (asks && !(await confirmed(state))) {
        messages.say('info', 'Nothing was released.');
        return EXIT_CODES.failure.code;
      }
      const released = await locks.forceRelease(key);
      const detached = detachedOf(state);
      const also = detached === 0 ? '' : ', and the ticket of its detached lease is useless now';
      const text = released ? `${key}: released${also}` : `${key}: its lease had ended`;
      messages.result(text, { key, released, detached: released ? detached : 0 });
      return released ? EXIT_CODES.success.code : EXIT_CODES.failure.code;
    } finally {
      await locks.close();
    }
  } catch (error) {
    return failure(error, messages);
  }
};

async function confirmed(state: LockInspection): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const prompt = `${inspectionText(state)}\n${effectOf(state)} Release the lock? [y/N] `;
    return /^y(es)?$/i.test((await terminal.question(prompt)).trim());
  } catch {
    return false; // Ctrl-C or Ctrl-D
  } finally {
    terminal.close();
  }
}

function effectOf(state: LockInspection): string {
  const detached = detachedOf(state);
  const effects: string[] = [];
  if (detached < Math.max(1, state.holders.length))
    effects.push('The work of the holder may continue beside the next holder.');
  if (detached > 0) effects.push('The ticket of the detached lease becomes useless.');
  return effects.join(' ');
}
