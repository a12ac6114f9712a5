import { readFileSync } from 'node:fs';

import type { Redis } from 'ioredis';

import type { ScriptName } from '../../support/run-script.js';
import type { Step } from './steps.js';
import { keysOfSteps } from './steps.js';

export interface Sequence {
  readonly startMs: number;
  readonly micros: number;
  readonly steps: readonly Step[];
}

/** What each step of a sequence did: its reply, its messages, and all keys. */
export type Lines = readonly string[];

const WRAPPER = readFileSync(new URL('in-redis.lua', import.meta.url), 'utf8');

/** A script that runs sequences. */
export function sequencesOf(scripts: Readonly<Record<ScriptName, string>>): string {
  const bodies = Object.entries(scripts).map(
    ([name, lua]) => `[${JSON.stringify(name)}] = function(KEYS, ARGV, redis)\n${lua}\nend`,
  );
  return `local scripts = { ${bodies.join(',\n')} }\n${WRAPPER}`;
}

export async function runInRedis(redis: Redis, sha: string, sequence: Sequence): Promise<Lines> {
  return (await redis.evalsha(sha, 0, JSON.stringify(sequence), JSON.stringify(keysOfSteps()))) as string[];
}
