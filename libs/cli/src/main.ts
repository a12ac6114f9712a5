import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Execute } from './commands/command.js';
import { commandHelp, programHelp } from './help.js';
import { Messages } from './messages.js';
import { type CommandLine, isCommand, readCommandLine } from './parse.js';
import { type CommandName, EXIT_CODES } from './table.js';

/** Only the module of the command that runs is evaluated. */
const COMMAND: { readonly [Name in CommandName]: () => Promise<Execute<Name>> } = {
  run: async () => (await import('./commands/run.js')).run,
  inspect: async () => (await import('./commands/inspect.js')).inspect,
  list: async () => (await import('./commands/list.js')).list,
  release: async () => (await import('./commands/release.js')).release,
  watch: async () => (await import('./commands/watch.js')).watch,
  doctor: async () => (await import('./commands/doctor.js')).doctor,
};

async function main([name, ...words]: readonly string[]): Promise<number> {
  if (process.platform === 'win32') {
    return wrong('Windows is not supported: it has no process groups. Use WSL or a container.');
  }
  if (name === '--help' || name === '-h' || name === 'help') return show(programHelp());
  if (name === '--version' || name === '-V') return show(version());
  if (!isCommand(name)) {
    return wrong(`${withoutCommand(name)}. See distribute-lock --help.`);
  }
  try {
    return await start(readCommandLine(name, words));
  } catch (error) {
    // By its name, because the file of a command has another class of this name.
    if (error instanceof Error && error.name === 'UsageError')
      return wrong(`${error.message} See distribute-lock ${name} --help.`);
    throw error;
  }
}

function version(): string {
  const manifest = readFileSync(join(__dirname, '../package.json'), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

function withoutCommand(name: string | undefined): string {
  if (name === undefined) return 'No command';
  return name.startsWith('-') ? `Flags such as "${name}" come after the command` : `Unknown command "${name}"`;
}

async function start<Name extends CommandName>(line: CommandLine<Name>): Promise<number> {
  if (line.values.help === true) return show(commandHelp(line.name));
  const execute = await COMMAND[line.name]();
  return execute(line, new Messages(line.values));
}

function show(text: string): number {
  new Messages({}).result(text, {});
  return EXIT_CODES.success.code;
}

function wrong(text: string): number {
  new Messages({}).say('error', text);
  return EXIT_CODES.usage.code;
}

// The process ends, even if a connection is still open.
void main(process.argv.slice(2)).then((code) => process.exit(code));
