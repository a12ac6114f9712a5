import { EXIT_CODES } from '../table.js';
import type { Execute } from './command.js';

export const execute: Execute<'release'> = async (_line, messages) => {
  messages.say('error', 'This command is not built yet.');
  return EXIT_CODES.usage.code;
};
