import { parseArgs } from 'node:util';

import { type Command, type CommandName, COMMANDS, type Flag, type FlagType, SHARED_FLAGS } from './table.js';

/** The command line is wrong: exit code 64. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

interface ValueOf {
  switch: boolean;
  text: string;
  duration: number;
  count: number;
  code: number;
  choice: string;
}

type ValuesOf<Flags extends Readonly<Record<string, Flag>>> = {
  readonly [Name in keyof Flags]?: ValueOf[Flags[Name]['type']];
};

export type SharedValues = ValuesOf<typeof SHARED_FLAGS>;
/** The flags of a command by their long names. Durations are milliseconds. A flag that was not given is absent. */
export type FlagValues<Name extends CommandName> = SharedValues & ValuesOf<(typeof COMMANDS)[Name]['flags']>;

/** A command line that was read. */
export interface CommandLine<Name extends CommandName = CommandName> {
  readonly name: Name;
  readonly values: FlagValues<Name>;
  /** The operand; empty if the command has none. */
  readonly key: string;
  /** What follows `--`. */
  readonly command: readonly string[];
}

export const isCommand = (name: string | undefined): name is CommandName =>
  name !== undefined && Object.hasOwn(COMMANDS, name);

export const flagsOf = (name: CommandName): Readonly<Record<string, Flag>> => ({
  ...COMMANDS[name].flags,
  ...SHARED_FLAGS,
});

/** @throws UsageError when the command line does not fit the table */
export function readCommandLine<Name extends CommandName>(name: Name, words: readonly string[]): CommandLine<Name> {
  const { operand, runs = false }: Command = COMMANDS[name];
  const end = words.indexOf('--');
  const head = runs && end >= 0 ? words.slice(0, end) : words;
  const { values, positionals } = parse(name, head);
  const help = values['help'] === true;
  const wanted = operand === undefined ? 0 : 1;
  if (!help && positionals.length !== wanted) throw new UsageError(wrongOperands(name, positionals, wanted));
  const command = runs && end >= 0 ? words.slice(end + 1) : [];
  if (!help && runs && command.length === 0) throw new UsageError(`No command: write it after "--".`);
  return { name, values: values as FlagValues<Name>, key: positionals[0] ?? '', command };
}

function wrongOperands(name: CommandName, given: readonly string[], wanted: number): string {
  if (given.length === 0) return `"${name}" needs a key.`;
  const first = given[wanted];
  return `"${first}" is one operand too many.${name === 'run' ? ' Write the command after "--".' : ''}`;
}

function parse(
  name: CommandName,
  words: readonly string[],
): { values: Record<string, unknown>; positionals: string[] } {
  const flags = flagsOf(name);
  const options = Object.fromEntries(
    Object.entries(flags).map(([long, { short, type }]) => [
      long,
      {
        type: type === 'switch' ? ('boolean' as const) : ('string' as const),
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true, strict: true });
    const read = Object.entries(values).map(
      ([long, text]) => [long, valueOf(long, flags[long], text as never)] as const,
    );
    return { values: Object.fromEntries(read), positionals };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // Node adds advice in further sentences, which is not always true here.
    throw new UsageError(`${(error as Error).message.split('. ')[0].replace(/\.$/, '')}.`);
  }
}

const READERS: { readonly [Type in FlagType]: (flag: Flag, text: string) => unknown } = {
  switch: () => true,
  text: (_flag, text) => (text === '' ? undefined : text),
  duration: ({ least = 0 }, text) => atLeast(durationMs(text), least),
  count: ({ least = 0 }, text) => atLeast(wholeNumber(text), least),
  code: (_flag, text) => ((wholeNumber(text) ?? Infinity) <= 255 ? wholeNumber(text) : undefined),
  choice: ({ choices = [] }, text) => (choices.includes(text) ? text : undefined),
};

const EXPECTED: { readonly [Type in FlagType]: (flag: Flag) => string } = {
  switch: () => 'nothing',
  text: () => 'text',
  duration: () => 'a time such as 500ms, 30s or 5m',
  count: ({ least = 0 }) => `a whole number from ${least}`,
  code: () => 'a number from 0 to 255',
  choice: ({ choices = [] }) => choices.join(' or '),
};

function valueOf(long: string, flag: Flag, text: string): unknown {
  const value = READERS[flag.type](flag, text);
  if (value === undefined) throw new UsageError(`--${long} is "${text}", but it must be ${EXPECTED[flag.type](flag)}.`);
  return value;
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
/** The longest time of a timer. */
const LONGEST_MS = 2 ** 31 - 1;

/** The same durations as in the options of the library, which is not loaded yet. */
function durationMs(text: string): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text) ?? [];
  if (number === undefined) return undefined;
  const ms = Number(number) * UNITS[unit];
  return Number.isInteger(ms) && ms <= LONGEST_MS ? ms : undefined;
}

const wholeNumber = (text: string): number | undefined => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);

const atLeast = (value: number | undefined, least: number): number | undefined =>
  value !== undefined && value >= least ? value : undefined;
