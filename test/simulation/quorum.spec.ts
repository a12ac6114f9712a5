import { Ballot, BallotTokens } from '../../libs/distribute-lock/src/store/quorum/ballot.js';
import { QuorumNode } from '../../libs/distribute-lock/src/store/quorum/quorum-node.js';
import { Tally } from '../../libs/distribute-lock/src/store/quorum/poll.js';
import { ServerClock } from '../../libs/distribute-lock/src/store/redis/server-clock.js';
import { patch, type Restore } from './patch.js';
import { loadRules, type Change } from '../support/load-rules.js';
import { SimulatedConnection } from './quorum/simulated-connection.js';
import type { RunScript } from '../support/run-script.js';
import { QuorumWorld } from './quorum/quorum-world.js';

/** For a longer search: `SIM_QUORUM=100000 SIM_DRAW=7`. To repeat one history with a trace: `SIM_SEED=...`. */
const HISTORIES = Number(process.env['SIM_QUORUM'] ?? 600);
const FIRST = Number(process.env['SIM_DRAW'] ?? 1) * 1_000_000;
/** A mutant that survives this many histories shows a missing test. They are the same for every draw. */
const MOST_HISTORIES = 3_000;
const FIRST_OF_MUTANTS = 1_000_000;
/** The first history of the search for rare violations; it precedes a known violation. */
const BEGINS_AT: Readonly<Record<string, number>> = {
  'a vote that a renewal restores and counts': 21_020,
  'a renewal that ignores a larger fencing token': 30_006_770,
};

interface Outcome {
  readonly histories: number;
  readonly holds: number;
  readonly broken?: string;
}

async function runHistories(count: number, first = FIRST, runScript?: RunScript, trace?: string[]): Promise<Outcome> {
  let holds = 0;
  for (let i = 0; i < count; i += 1) {
    const world = await new QuorumWorld(first + i, runScript, trace).run();
    holds += world.holders.count;
    if (world.violation !== undefined) {
      return { histories: i + 1, holds, broken: `${world.violation}; again with SIM_SEED=${first + i}` };
    }
  }
  return { histories: count, holds };
}

describe('A quorum in simulated time', () => {
  it(`keeps every rule in ${HISTORIES} histories`, async () => {
    const seed = process.env['SIM_SEED'];
    const startedAt = performance.now();
    const trace: string[] = [];
    const { histories, holds, broken } =
      seed === undefined ? await runHistories(HISTORIES) : await runHistories(1, Number(seed), undefined, trace);
    if (trace.length > 0) process.stdout.write(`${trace.join('\n')}\n`);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    process.stdout.write(`simulation of a quorum: ${histories} histories, ${holds} holds, ${seconds} s\n`);
    expect(broken).toBeUndefined();
    expect(holds).toBeGreaterThan(histories);
  }, 600_000);
});

/** The rules of a node without one measure. */
const NODES: Readonly<Record<string, Change>> = {
  'a vote that is granted twice': {
    file: 'store/protocol/quorum.ts',
    measure: 'if (voted !== false && !mine) {',
    without: 'if (false) {',
  },
  'fencing tokens that are not kept': {
    file: 'store/protocol/quorum.ts',
    measure:
      "  if (written >= first) return [FENCE_TOO_LOW, written, 0];\n  redis.call('SET', counterKey, last, 'PX', FENCE_TTL_MS);\n",
    without: '',
  },
  'a renewal that ignores a larger fencing token': {
    file: 'store/protocol/quorum.ts',
    measure: 'own > 0 && last > own ? LARGER_FENCE : 0',
    without: '0',
  },
};

/** The store without one measure. */
const STORES: Record<string, () => Restore> = {
  'a token that gets votes again after its release': () => patch(BallotTokens, 'next', () => (owner: string) => owner),
  'a vote that a renewal restores and counts': () =>
    patch(
      SimulatedConnection,
      'run',
      (original) =>
        function (this: SimulatedConnection, key: string, words: readonly (string | number)[], ...rest: never[]) {
          const [command, token, owner, ttlMs] = words;
          return original.call(this, key, command === 'n' ? ['a', token, owner, ttlMs, 1] : words, ...rest);
        },
    ),
  'a vote without a deadline': () => patch(ServerClock, 'deadline', () => () => 0),
  'votes that are not undone': () => patch(QuorumNode, 'abandon', () => () => undefined),
  'fencing tokens that are not written to a majority': () =>
    patch(Ballot, 'number', () => async (first: number) => first),
  'half of the nodes as a majority': () => {
    const original = Object.getOwnPropertyDescriptor(Tally.prototype, 'needed')!;
    Object.defineProperty(Tally.prototype, 'needed', {
      configurable: true,
      get(this: Tally) {
        return Math.floor(this.nodes / 2);
      },
    });
    return () => void Object.defineProperty(Tally.prototype, 'needed', original);
  },
};

describe('The simulation of a quorum notices', () => {
  const noticed = (name: string, { histories, broken }: Outcome): void => {
    process.stdout.write(`simulation of a quorum: "${name}" noticed in history ${histories}: ${broken ?? 'NO'}\n`);
    expect(broken).toBeDefined();
  };

  it.each(Object.entries(NODES))('%s', async (name, change) => {
    const { runScript } = await loadRules<{ runScript: RunScript }>('test/support/run-script.ts', {
      changes: [change],
    });
    noticed(name, await runHistories(MOST_HISTORIES, FIRST_OF_MUTANTS + (BEGINS_AT[name] ?? 0), runScript));
  });

  it.each(Object.entries(STORES))(
    '%s',
    async (name, mutate) => {
      const restore = mutate();
      noticed(name, await runHistories(MOST_HISTORIES, FIRST_OF_MUTANTS + (BEGINS_AT[name] ?? 0)).finally(restore));
    },
    600_000,
  );
});
