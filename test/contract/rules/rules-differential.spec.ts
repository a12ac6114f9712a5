import { Redis } from 'ioredis';

import * as scripts from '../../../libs/distribute-lock/src/store/lua/generated/lua-scripts.js';
import { FENCE_TTL_MS } from '../../../libs/distribute-lock/src/store/protocol.js';
import type { ScriptName } from '../../../libs/distribute-lock/src/store/protocol/run-script.js';
import { compileRules, SETTINGS } from '../../../tools/rules-compiler.mjs';
import { Random } from '../../simulation/random.js';
import { startRedisServer } from '../../support/redis-server.js';
import { runsOf } from '../../support/runs.js';
import { runInMemory } from './in-memory.js';
import { runSides, scriptFor, type Side } from './in-redis.js';
import { Steps, type Step } from './steps.js';

const { numRuns: SEQUENCES, seed = Date.now() % 1e9 } = runsOf(
  'the rules and the scripts',
  Number(process.env.RULES_SEQUENCES ?? 400),
);
const STEPS = 40;

/** The rule of each script. */
const ENTRIES: Readonly<Record<ScriptName, string>> = {
  lock: 'runOtherLocks',
  'mark-counter': 'runMarkCounter',
  members: 'runMembers',
  'multi-key': 'runMultiKey',
  quorum: 'runQuorumStep',
  readwrite: 'runReadWrites',
  semaphore: 'runSemaphores',
};
const NAMES = Object.keys(ENTRIES) as ScriptName[];

/** The scripts of the package, which were written by hand. */
const PRESENT = {
  lock: scripts.lockScript,
  'mark-counter': scripts.markCounterScript,
  members: scripts.membersScript,
  'multi-key': scripts.multiKeyScript,
  quorum: scripts.quorumScript,
  readwrite: scripts.readwriteScript,
  semaphore: scripts.semaphoreScript,
};

const LAYOUTS = {
  onePrimary: { counted: true, sharded: false },
  cluster: { counted: false, sharded: false, fenceMs: FENCE_TTL_MS },
  largeCluster: { counted: false, sharded: true, fenceMs: FENCE_TTL_MS },
} as const;

describe.each(['onePrimary', 'cluster', 'largeCluster'] as const)('The rules for %s', (layout) => {
  let redis: Redis;
  let sha: string;

  beforeAll(async () => {
    redis = new Redis((await startRedisServer()).url);
    const of = (text: (name: ScriptName) => string) =>
      Object.fromEntries(NAMES.map((name) => [name, text(name)])) as Required<Side>['scripts'];
    const present = of((name) => {
      const script = PRESENT[name];
      const { lua } = layout === 'onePrimary' ? script : (script.cluster ?? script);
      // As the store does.
      return layout === 'largeCluster' ? lua.replace('local sharded = false', 'local sharded = true') : lua;
    });
    const compiled = of((name) => compileRules(ENTRIES[name], SETTINGS[layout]));
    sha = (await redis.script(
      'LOAD',
      scriptFor([{ prefix: 'old:', scripts: present }, { prefix: 'new:', scripts: compiled }, { prefix: 'mix:' }]),
    )) as string;
  });

  afterAll(() => redis.quit());

  // Replies, messages, and all keys with their ends are equal: of the scripts, of the compiled rules, of both in turn on the
  // same keys, and in memory.
  it.each(NAMES)(
    'do what the scripts do, in Redis and in memory: %s',
    async (only) => {
      let commands = 0;
      for (let i = 0; i < SEQUENCES; i += 1) {
        const steps = new Steps(new Random(seed + i), { bySlot: layout !== 'onePrimary' }, only);
        const sequence = steps.sequence(STEPS);
        commands += commandsOf(sequence.steps, only);
        try {
          const lines = await runSides(redis, sha, sequence);
          expectSame(runInMemory(sequence, LAYOUTS[layout]), lines, sequence.steps);
        } catch (error) {
          throw new Error(`sequence ${seed + i}: ${(error as Error).message}`, { cause: error });
        }
      }
      expect(commands).toBeGreaterThan(SEQUENCES);
      process.stdout.write(`${layout}, ${only}: ${commands} commands, no difference\n`);
    },
    900_000,
  ); // ends a hang only
});

function commandsOf(steps: readonly Step[], script: ScriptName): number {
  return steps.reduce((sum, step) => sum + ('script' in step && step.script === script ? commandsIn(step) : 0), 0);
}

/** Compares line by line, and shows the step of the first difference. */
function expectSame(memory: readonly string[], redis: readonly string[], steps: readonly Step[]): void {
  const different = memory.findIndex((line, i) => line !== redis[i]);
  if (different < 0) return;
  throw new Error(
    `memory differs from Redis at step ${different + 1}: ${JSON.stringify(steps[different])}\n--- memory\n${memory[different]}\n--- Redis\n${redis[different]}\n--- before\n${redis[different - 1]}`,
  );
}

/** The arguments of these scripts are the words of one command. */
const ONE_COMMAND: readonly ScriptName[] = ['mark-counter', 'members', 'quorum'];

const commandsIn = ({ script, args }: Extract<Step, { script: unknown }>): number =>
  ONE_COMMAND.includes(script) ? 1 : args.length;
