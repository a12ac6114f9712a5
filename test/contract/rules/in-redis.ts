import { readFileSync } from 'node:fs';

import type { Redis } from 'ioredis';

import type { ScriptName } from '../../../libs/distribute-lock/src/store/protocol/run-script.js';
import type { Step } from './steps.js';
import { keysOfSteps } from './steps.js';

/** Scripts that run beside each other on the same steps, each under another prefix. */
export interface Side {
  /** As long as `PREFIX`. */
  readonly prefix: string;
  /** Absent for a rolling upgrade: the first two sides run its steps in turn. */
  readonly scripts?: Readonly<Record<ScriptName, string>>;
}

export interface Sequence {
  readonly startMs: number;
  readonly micros: number;
  readonly steps: readonly Step[];
}

/** What each step of a sequence did: its reply, its messages, and all keys. */
export type Lines = readonly string[];

const WRAPPER = readFileSync(new URL('sides.lua', import.meta.url), 'utf8');

/** A script that runs sequences on each side. */
export function scriptFor(sides: readonly Side[]): string {
  const texts = sides.map(({ prefix, scripts }) => {
    if (scripts === undefined) return `{ prefix = '${prefix}' }`;
    const bodies = Object.entries(scripts).map(
      ([name, lua]) => `[${JSON.stringify(name)}] = function(KEYS, ARGV, redis)\n${lua}\nend`,
    );
    return `{ prefix = '${prefix}', scripts = { ${bodies.join(',\n')} } }`;
  });
  return `local sides = { ${texts.join(',\n')} }\n${WRAPPER}`;
}

/** Runs a sequence on each side; throws if they differ. */
export async function runSides(redis: Redis, sha: string, sequence: Sequence): Promise<Lines> {
  const reply = (await redis.evalsha(sha, 0, JSON.stringify(sequence), JSON.stringify(keysOfSteps()))) as
    string[] | [number, string, string, string];
  if (typeof reply[0] !== 'number') return reply as string[];
  const [number, one, other, before] = reply as [number, string, string, string];
  throw new Error(
    `the sides differ at step ${number}: ${JSON.stringify(sequence.steps[number - 1])}\n--- one\n${one}\n--- other\n${other}\n--- before\n${before}`,
  );
}
