import { readFileSync } from 'node:fs';

import type { Redis } from 'ioredis';

import { MemoryServer, ServerError } from '../../../libs/distribute-lock/src/store/memory/memory-server.js';
import type { Settings } from '../../../libs/distribute-lock/src/store/protocol/settings.js';
import { runScript, type ScriptName } from '../../support/run-script.js';
import type { Step } from './steps.js';

export interface Sequence {
  readonly startMs: number;
  readonly micros: number;
  readonly steps: readonly Step[];
  /** All keys are compared after each step with a multiple of this number. */
  readonly dumpEvery: number;
}

/** What each step of a sequence did: its reply, its messages, and all keys. */
type Lines = readonly string[];

/** Sequences that are sent to Redis before the first reply is awaited. */
const BATCH = 50;
const INBOX = /^nestjs-lock:1:....(.{11})/;
/** A channel in the slot of a lock is longer. */
const INBOX_LENGTH = 29;
/** As in `in-redis.lua`. */
const WORDS = /ERR [A-Za-z][A-Za-z ]*|Cannot [A-Za-z '_()]*/g;
/** Redis writes 0.1 with 17 digits. */
const FRACTION = /-?\d+\.\d+(?:e\+\d+)?/g;

const WRAPPER = readFileSync(new URL('in-redis.lua', import.meta.url), 'utf8');

/**
 * Loads the script that runs sequences, with the texts of these scripts; returns how Redis runs a sequence. It deletes all
 * keys of the server.
 */
export async function runnerIn(redis: Redis, scripts: Partial<Record<ScriptName, string>>) {
  const bodies = Object.entries(scripts).map(
    ([name, lua]) => `[${JSON.stringify(name)}] = function(KEYS, ARGV, redis)\n${lua}\nend`,
  );
  const sha = (await redis.script('LOAD', `local scripts = { ${bodies.join(',\n')} }\n${WRAPPER}`)) as string;
  return async (sequence: Sequence): Promise<Lines> => {
    const lines = await redis.evalsha(sha, 0, JSON.stringify(sequence));
    return (lines as string[]).map(comparable);
  };
}

/** Runs these comparisons; Redis runs the sequences of a batch while this process runs them in memory. */
export async function inBatches(count: number, compare: (number: number) => Promise<void>): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first);
    await Promise.all(Array.from({ length: size }, (_, i) => compare(first + i)));
  }
}

/** Runs a sequence in memory: the same steps, clock and receivers as `in-redis.lua`, and lines of the same form. */
export function runInMemory(
  { startMs, micros, steps, dumpEvery }: Sequence,
  settings?: Settings,
  rules = runScript,
): Lines {
  let nowMs = startMs;
  let messages: string[] = [];
  let receivers: Readonly<Record<string, number>> = {};
  const server = new MemoryServer({
    // In the middle of the microsecond, because a number of this size has no exact microseconds.
    nowMs: () => nowMs + (micros + 0.5) / 1_000,
    publish(channel, message) {
      messages.push(`${channel.length === INBOX_LENGTH ? 'PUBLISH' : 'SPUBLISH'} ${channel} ${message}`);
      const count = receivers[INBOX.exec(channel)?.[1] ?? ''] ?? 0;
      if (count < 0) throw new ServerError('NOPERM');
      return count;
    },
  });
  return steps.map((step, i) => `${run(step)}\n${(i + 1) % dumpEvery === 0 ? dump() : ''}`).map(comparable);

  function run(step: Step): string {
    if ('receivers' in step) receivers = step.receivers;
    else if ('advanceMs' in step) nowMs += step.advanceMs;
    else if ('foreign' in step) return typed(server.pcall(...(step.foreign as ['GET', string])));
    else {
      messages = [];
      return `${replyOf(step).replaceAll(WORDS, 'a rule failed ')} | ${messages.join(' | ')}`;
    }
    return '';
  }

  function replyOf({ script, keys, args }: Extract<Step, { script: unknown }>): string {
    try {
      return shown(rules(server, script, keys, args, settings));
    } catch (error) {
      const { err } = error as { err?: string };
      if (err === undefined) throw error;
      return shown({ err });
    }
  }

  function dump(): string {
    const lines = server.dump().map(([key, content, endsAt]) => {
      return `${key} ${shown(content)} for ${endsAt === undefined ? -1 : endsAt - nowMs}`;
    });
    return lines.join('\n');
  }
}

type Reply = string | number | boolean | readonly (string | number)[] | { readonly err?: string; readonly ok?: string };

/** A reply with its type in Lua. */
function typed(reply: Reply): string {
  const type = typeof reply === 'object' ? 'table' : typeof reply;
  return `${type} ${shown(reply)}`;
}

function shown(value: Reply): string {
  if (typeof value !== 'object') return String(value);
  if ('join' in value) return value.join(' ');
  return value.err === undefined ? `status ${value.ok}` : `error ${value.err}`;
}

const comparable = (line: string): string =>
  line.replaceAll(FRACTION, printed).replace(/^number (-?\d+)$/m, (_, number: string) => `number ${printed(number)}`);

/** Lua prints 17 digits of a number, JavaScript as few as possible. */
const printed = (number: string): string => String(Number(number));
