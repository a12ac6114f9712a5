import { Redis } from 'ioredis';

import * as scripts from '../../../libs/distribute-lock/src/store/generated/lua-scripts.js';
import { FENCE_TTL_MS } from '../../../libs/distribute-lock/src/store/protocol.js';
import type * as RunScript from '../../support/run-script.js';
import type { ScriptName } from '../../support/run-script.js';
import { loadRules } from '../../support/load-rules.js';
import { PLANTS } from '../../model/plants.mjs';
import { Random } from '../../simulation/random.js';
import { startRedisServer } from '../../support/redis-server.js';
import { runsOf } from '../../support/runs.js';
import { inBatches, runInMemory, runnerIn, type Sequence } from './sequences.js';
import { Steps, type Step } from './steps.js';

const { numRuns: SEQUENCES, seed = Date.now() % 1e9 } = runsOf(
  'the scripts and the rules in memory',
  Number(process.env.RULES_SEQUENCES ?? 3_000),
);
const STEPS = 40;

/** The scripts of the package that run a rule with locks. */
const SCRIPTS = Object.values(scripts).filter(({ name }) => name !== 'check-inbox');
const NAMES = SCRIPTS.map(({ name }) => name as ScriptName);

const LAYOUTS = {
  onePrimary: { counted: true, sharded: false },
  cluster: { counted: false, sharded: false, fenceMs: FENCE_TTL_MS },
  largeCluster: { counted: false, sharded: true, fenceMs: FENCE_TTL_MS },
} as const;
type Layout = keyof typeof LAYOUTS;

const load = (redis: Redis, layout: Layout) => {
  const texts = SCRIPTS.map((script) => [script.name, (layout === 'onePrimary' ? script : script[layout]).lua]);
  return runnerIn(redis, Object.fromEntries(texts));
};

const sequenceOf = (number: number, layout: Layout, only?: ScriptName): Sequence => {
  const steps = new Steps(new Random(number), { bySlot: layout !== 'onePrimary' }, only);
  return { ...steps.sequence(STEPS), dumpEvery: 1 };
};

describe.each(['onePrimary', 'cluster', 'largeCluster'] as const)('The scripts for %s', (layout) => {
  let redis: Redis;
  let runInRedis: Awaited<ReturnType<typeof load>>;

  beforeAll(async () => {
    redis = new Redis((await startRedisServer()).url);
    runInRedis = await load(redis, layout);
  });

  afterAll(() => redis.quit());

  // Replies, messages, and all keys with their ends are equal.
  it.each(NAMES)(
    'do what the rules do in memory: %s',
    async (only) => {
      let commands = 0;
      await inBatches(SEQUENCES, async (number) => {
        const sequence = sequenceOf(seed + number, layout, only);
        commands += commandsOf(sequence.steps, only);
        const inRedis = runInRedis(sequence);
        const difference = differenceOf(runInMemory(sequence, LAYOUTS[layout]), await inRedis, sequence.steps);
        if (difference !== undefined) throw new Error(`sequence ${seed + number}: ${difference}`);
      });
      expect(commands).toBeGreaterThan(SEQUENCES);
      process.stdout.write(`${layout}, ${only}: ${commands} commands, no difference\n`);
    },
    900_000,
  ); // ends a hang only
});

describe('A comparison of the scripts with rules that have a fault', () => {
  let redis: Redis;
  let runInRedis: Awaited<ReturnType<typeof load>>;

  beforeAll(async () => {
    redis = new Redis((await startRedisServer()).url);
    runInRedis = await load(redis, 'onePrimary');
  });

  afterAll(() => redis.quit());

  const kinds = {
    exclusive: 'lock',
    'read-write': 'readwrite',
    semaphore: 'semaphore',
    'multi-key': 'multi-key',
  } as const;

  it.each(PLANTS)(
    'finds it: $kind, $name',
    async (plant) => {
      const { runScript } = await loadRules<typeof RunScript>('test/support/run-script.ts', { changes: [plant] });
      for (let number = 1; number <= 3_000; number += 1) {
        const sequence = sequenceOf(number, 'onePrimary', kinds[plant.kind]);
        const lines = await runInRedis(sequence);
        if (differenceOf(runInMemory(sequence, LAYOUTS.onePrimary, runScript), lines, sequence.steps) !== undefined)
          return;
      }
      throw new Error('no sequence shows the difference');
    },
    300_000,
  ); // ends a hang only
});

function commandsOf(steps: readonly Step[], script: ScriptName): number {
  return steps.reduce((sum, step) => sum + ('script' in step && step.script === script ? commandsIn(step) : 0), 0);
}

/** The step of the first difference. */
function differenceOf(memory: readonly string[], redis: readonly string[], steps: readonly Step[]): string | undefined {
  const different = memory.findIndex((line, i) => line !== redis[i]);
  if (different < 0) return undefined;
  return `memory differs from Redis at step ${different + 1}: ${JSON.stringify(steps[different])}\n--- memory\n${memory[different]}\n--- Redis\n${redis[different]}\n--- before\n${redis[different - 1]}`;
}

/** The arguments of these scripts are the words of one command. */
const ONE_COMMAND: readonly ScriptName[] = ['delete-foreign', 'mark-counter', 'mark-ticket', 'members', 'quorum'];

const commandsIn = ({ script, args }: Extract<Step, { script: unknown }>): number =>
  ONE_COMMAND.includes(script) ? 1 : args.length;
