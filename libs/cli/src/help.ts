import { flagsOf } from './parse.js';
import { type Command, type CommandName, COMMANDS, EXIT_CODES, type Flag } from './table.js';

/** The text of `distribute-lock --help`. */
export function programHelp(): string {
  const names = Object.keys(COMMANDS) as CommandName[];
  const commands = names.map((name) => [usageOf(name), COMMANDS[name].about] as const);
  const codes = Object.values(EXIT_CODES).map(({ code, about }) => [`${code}`, about] as const);
  return [
    'Locks in Redis that all hosts share, for commands of a shell.',
    '',
    ...columns(commands),
    '',
    'Exit codes:',
    ...columns(codes),
    '',
    '`distribute-lock COMMAND --help` shows flags and examples, `distribute-lock --version` the version.',
  ].join('\n');
}

/** The text of `distribute-lock COMMAND --help`. */
export function commandHelp(name: CommandName): string {
  const { about, examples, note }: Command = COMMANDS[name];
  const flags = Object.entries(flagsOf(name)).map(([long, flag]) => [labelOf(long, flag), flagText(flag)] as const);
  return [
    `distribute-lock ${usageOf(name)}: ${about}`,
    '',
    ...columns(flags),
    '',
    ...examples.map((example) => `  ${example}`),
    ...(note === undefined ? [] : ['', note]),
  ].join('\n');
}

export function usageOf(name: CommandName): string {
  const { operand, runs = false }: Command = COMMANDS[name];
  return [name, operand, '[flags]', runs ? '-- command args...' : undefined]
    .filter((word) => word !== undefined)
    .join(' ');
}

/** `-w, --wait TIME` */
export function labelOf(long: string, { short, value }: Flag): string {
  const names = short === undefined ? `    --${long}` : `-${short}, --${long}`;
  return value === undefined ? names : `${names} ${value}`;
}

/** What a flag means, with its default. */
export const flagText = ({ about, byDefault }: Flag): string =>
  byDefault === undefined ? about : `${about} (${byDefault})`;

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.map(([label, text]) => `  ${label.padEnd(width)}  ${text}`);
}
