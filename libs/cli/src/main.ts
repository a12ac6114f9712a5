import type { Execute } from './commands/command.js';
import { commandHelp, programHelp } from './help.js';
import { Messages } from './messages.js';
import { type CommandLine, isCommand, readCommandLine } from './parse.js';
import { type CommandName, EXIT_CODES } from './table.js';

/** The modules of the commands. Only the one that runs is evaluated. */
const MODULES: { readonly [Name in CommandName]: () => Promise<{ readonly execute: Execute<Name> }> } = {
  run: () => import('./commands/run.js'),
  inspect: () => import('./commands/inspect.js'),
  list: () => import('./commands/list.js'),
  release: () => import('./commands/release.js'),
  watch: () => import('./commands/watch.js'),
  doctor: () => import('./commands/doctor.js'),
};

async function main([name, ...words]: readonly string[]): Promise<number> {
  if (process.platform === 'win32') {
    return wrong('Windows is not supported: it has no process groups. Use WSL or a container.');
  }
  if (name === '--help' || name === '-h' || name === 'help') return show(programHelp());
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

function withoutCommand(name: string | undefined): string {
  if (name === undefined) return 'No command';
  return name.startsWith('-') ? `Flags such as "${name}" come after the command` : `Unknown command "${name}"`;
}

async function start<Name extends CommandName>(line: CommandLine<Name>): Promise<number> {
  if (line.values.help === true) return show(commandHelp(line.name));
  const { execute } = await MODULES[line.name]();
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
