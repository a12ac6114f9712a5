import { openLocks } from '../connection.js';
import { failure } from '../failures.js';
import { EXIT_CODES } from '../table.js';
import type { Execute } from './command.js';
import { inspectionText } from './inspection-text.js';

/** Shows the holders and the waiting processes of a key. */
export const inspect: Execute<'inspect'> = async ({ key, values }, messages) => {
  try {
    const locks = await openLocks(values, messages, 'debug');
    try {
      const state = await locks.inspect(key);
      messages.result(inspectionText(state), state);
    } finally {
      await locks.close();
    }
    return EXIT_CODES.success.code;
  } catch (error) {
    return failure(error, messages);
  }
};
