import type { Messages } from '../messages.js';
import type { CommandLine } from '../parse.js';
import type { CommandName } from '../table.js';

/** A command. The promise resolves with the exit code. */
export type Execute<Name extends CommandName> = (line: CommandLine<Name>, messages: Messages) => Promise<number>;
