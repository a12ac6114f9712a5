import { CHECKPOINT } from './checkpoint.js';
import type { DumpedKey } from './dump-keys.js';
import { CALL } from './recorded-scripts.js';

/** The reply of TIME. */
export type Time = readonly [seconds: string, microseconds: string];

/** A message of a script, and the number of its receivers, or the error of the server. */
export type RecordedMessage = readonly [command: string, channel: string, message: string, receivers: number | string];

/** One value with its type, or a list of them. */
export type ShownReply = string | readonly string[];

/** A call of a script of locks. */
export interface RecordedCall {
  readonly type: 'call';
  /** The millisecond in which the server received it. */
  readonly atMs: number;
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly began: Time;
  /** The replies of TIME to the script. */
  readonly times: readonly Time[];
  readonly ended: Time;
  readonly messages: readonly RecordedMessage[];
  readonly reply: ShownReply;
  /** The keys of the call at its end, if it may have run in two milliseconds. */
  readonly after?: readonly DumpedKey[];
}

/** A dump of all keys. */
export interface Checkpoint {
  readonly type: 'checkpoint';
  readonly label: string;
  readonly began: Time;
  readonly ended: Time;
  readonly keys: readonly DumpedKey[];
  readonly role: 'master' | 'slave';
  /** Number of records that the process of the server has written before. */
  readonly records: number;
}

/** A command of a client, or of a script that is not recorded. */
export interface ForeignCommand {
  readonly type: 'foreign';
  readonly atMs: number;
  /** The first one is in upper case. */
  readonly words: readonly string[];
}

export type LogEntry = RecordedCall | Checkpoint | ForeignCommand;

const LINE = /^\+(\d+)\.(\d+) \[\d+ (\S+)\] /;
const WORD = /"((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\u0007', b: '\b' };

interface Line {
  readonly atMs: number;
  readonly isOfScript: boolean;
  readonly words: readonly string[];
}

/** The entries of the output of MONITOR, in the order in which the server executed them. */
export function logEntries(text: string): LogEntry[] {
  const entries: LogEntry[] = [];
  /** The line of a script call, and the commands of the script. */
  let call: Line | undefined;
  let commands: Line[] = [];
  const end = (): void => {
    entries.push(...commands.map(foreign));
    [call, commands] = [undefined, []];
  };
  // The end of a connection may have cut off the text after the last line break.
  for (const line of text.split('\r\n').slice(0, -1).map(lineOf)) {
    if (line === undefined) continue;
    if (!line.isOfScript) {
      end();
      if (line.words[0].startsWith('EVAL')) call = line;
      else entries.push(foreign(line));
      continue;
    }
    const record = line.words[0] === 'ECHO' ? recordIn(line.words[1], call ?? line) : undefined;
    if (record === undefined) {
      commands.push(line);
    } else {
      entries.push(record);
      [call, commands] = [undefined, []];
    }
  }
  // Without its record, a last script call may have ended with its server.
  return entries;
}

/** The rest of a line after the name of its entry. */
function recordIn(text: string, { atMs }: Line): RecordedCall | Checkpoint | undefined {
  const [name, ...rest] = text.split(' ');
  // An empty list is an empty object in the JSON of Redis.
  const json = (from: number): object =>
    JSON.parse(rest.slice(from).join(' '), (_, value: unknown) => (isEmpty(value) ? [] : value)) as object;
  if (name === CALL) return { type: 'call', atMs, ...json(0) } as RecordedCall;
  if (name === CHECKPOINT) return { type: 'checkpoint', label: rest[0], ...json(1) } as Checkpoint;
  return undefined;
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

const foreign = ({ atMs, words }: Line): ForeignCommand => ({ type: 'foreign', atMs, words });

function lineOf(text: string): Line | undefined {
  const [head, seconds, microseconds, client] = LINE.exec(text) ?? [];
  if (head === undefined) return undefined;
  const words = [...text.slice(head.length).matchAll(WORD)].map(([, word]) => unescaped(word));
  words[0] = words[0].toUpperCase();
  return { atMs: msOf([seconds, microseconds]), isOfScript: client === 'lua', words };
}

function unescaped(word: string): string {
  if (!word.includes('\\')) return word;
  const bytes = word.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex: string | undefined, letter: string) =>
    hex === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** The whole milliseconds of a time. */
export const msOf = ([seconds, microseconds]: Time): number =>
  Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
