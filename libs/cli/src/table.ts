/**
 * The table of the program: commands, flags and exit codes. The parser, `--help` and the reference page derive from it.
 * It is data only, so that the program can read it before it loads anything else.
 */

/** How the text of a flag is read. `switch` has no text. */
export type FlagType = 'switch' | 'text' | 'duration' | 'count' | 'code' | 'choice';

/** One flag. */
export interface Flag {
  readonly short?: string;
  readonly type: FlagType;
  /** What `--help` shows for the text of the flag. */
  readonly value?: string;
  /** The texts that a `choice` accepts. */
  readonly choices?: readonly string[];
  /** The least number that a `count` or a `duration` in milliseconds accepts. */
  readonly least?: number;
  readonly byDefault?: string;
  readonly about: string;
}

/** One command. */
export interface Command {
  /** What the command does: one sentence without its subject. */
  readonly about: string;
  /** The operand, if there is one. */
  readonly operand?: 'KEY';
  /** Whether `-- command args...` follows the flags. */
  readonly runs?: boolean;
  readonly flags: Readonly<Record<string, Flag>>;
  readonly examples: readonly string[];
  /** A sentence below the examples. */
  readonly note?: string;
}

/** The flags of each command. */
export const SHARED_FLAGS = {
  url: { type: 'text', value: 'URL', about: 'the Redis server', byDefault: 'REDIS_URL' },
  prefix: { type: 'text', value: 'TEXT', about: 'the prefix of all keys, as in the application', byDefault: 'lock:' },
  json: { type: 'switch', about: 'print JSON' },
  quiet: { short: 'q', type: 'switch', about: 'print no messages but errors; results stay' },
  verbose: { short: 'v', type: 'switch', about: 'also print what happens in between' },
  help: { short: 'h', type: 'switch', about: 'show this text' },
} as const satisfies Record<string, Flag>;

export const COMMANDS = {
  run: {
    about: 'runs a command while it holds the lock',
    operand: 'KEY',
    runs: true,
    flags: {
      'no-wait': { short: 'n', type: 'switch', about: 'do not wait for a held lock' },
      wait: { short: 'w', type: 'duration', value: 'TIME', about: 'wait at most this long', byDefault: 'no limit' },
      shared: { short: 's', type: 'switch', about: 'take a read lock' },
      permits: { type: 'count', value: 'N', least: 1, about: 'share the key among this many permits (a semaphore)' },
      weight: { type: 'count', value: 'N', least: 1, about: 'take this many permits', byDefault: '1' },
      ttl: {
        type: 'duration',
        value: 'TIME',
        about: 'how long the lock outlives a crash of the host',
        byDefault: '30s',
      },
      'min-hold': { type: 'duration', value: 'TIME', about: 'keep the lock at least this long' },
      'max-hold': { type: 'duration', value: 'TIME', least: 1, about: 'end the command after this time' },
      'held-code': {
        short: 'E',
        type: 'code',
        value: 'CODE',
        about: 'exit code when the lock is held',
        byDefault: '75',
      },
      'skip-ok': { type: 'switch', about: 'exit with 0 when the lock is held' },
      'on-lost': {
        type: 'choice',
        value: 'kill|warn',
        choices: ['kill', 'warn'],
        about: 'what a lost lock does to the command',
        byDefault: 'kill',
      },
      'kill-after': { type: 'duration', value: 'TIME', about: 'time between TERM and KILL', byDefault: '5s' },
      name: { type: 'text', value: 'TEXT', about: 'the name of the lock in messages and for inspect (the program)' },
    },
    examples: [
      'distribute-lock run nightly-report -n --skip-ok -- ./report.sh',
      'distribute-lock run migrate -w 10m -- npx prisma migrate deploy',
      'distribute-lock run imports --permits 3 -- node import.js',
    ],
  },
  inspect: {
    about: 'shows the holders of the lock, and how many processes wait',
    operand: 'KEY',
    flags: {},
    examples: ['distribute-lock inspect nightly-report', 'distribute-lock inspect nightly-report --json'],
  },
  list: {
    about: 'lists the keys that are held',
    flags: {
      match: { type: 'text', value: 'GLOB', about: 'only keys that match', byDefault: '*' },
      budget: {
        type: 'count',
        value: 'N',
        least: 1,
        about: 'look at no more than this many keys',
        byDefault: '100000',
      },
    },
    examples: ['distribute-lock list', "distribute-lock list --match 'report-*' --json"],
    note: 'The list is advisory: a key can change while the command reads the others.',
  },
  release: {
    about: 'takes the lock away from its holder',
    operand: 'KEY',
    flags: {
      force: { type: 'switch', about: 'required: the holder loses the lock' },
      yes: { short: 'y', type: 'switch', about: 'do not ask' },
    },
    examples: [
      'distribute-lock release nightly-report --force',
      'distribute-lock release nightly-report --force --yes',
    ],
    note: 'The work of the holder may continue beside the next holder, unless it looks at its lock.',
  },
  watch: {
    about: 'prints a line when the state of the lock changes',
    operand: 'KEY',
    flags: {
      for: { type: 'duration', value: 'TIME', least: 1, about: 'end after this time', byDefault: 'no limit' },
    },
    examples: ['distribute-lock watch nightly-report', 'distribute-lock watch nightly-report --json'],
  },
  doctor: {
    about: 'checks the Redis server and says what to change',
    flags: {
      layout: {
        type: 'choice',
        value: 'auto|slot|single',
        choices: ['auto', 'slot', 'single'],
        about: 'option layout of the application',
        byDefault: 'auto',
      },
    },
    examples: [
      'distribute-lock doctor',
      'distribute-lock doctor -q --url redis+cluster://redis-1:6379,redis-2:6379',
      'distribute-lock doctor --json --url redis+sentinel://sentinel-1:26379,sentinel-2:26379/main',
    ],
    note: 'Exit code 1 if a row failed. A warning, and a check that the server refuses, are no failure.',
  },
} as const satisfies Record<string, Command>;

export type CommandName = keyof typeof COMMANDS;

/** The exit codes of the program itself. */
export const EXIT_CODES = {
  success: { code: 0, about: 'success; `run`: the code of the command' },
  failure: { code: 1, about: '`doctor`: a check failed; `release`: the lock was not held' },
  usage: { code: 64, about: 'a wrong command line' },
  unavailable: { code: 69, about: 'Redis is not available, or refuses the program' },
  held: { code: 75, about: '`run`: another holder has the lock; -E changes it' },
  lost: { code: 76, about: '`run`: the lock was lost while the command ran' },
  notExecutable: { code: 126, about: '`run`: the command cannot be executed' },
  notFound: { code: 127, about: '`run`: the command does not exist' },
  signal: { code: 128, about: '128 + n: signal n ended the command or the wait' },
} as const;
