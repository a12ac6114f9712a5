import { Ballot, BallotTokens } from '../../libs/distribute-lock/src/store/quorum/ballot.js';
import type { NodeReply } from '../../libs/distribute-lock/src/store/quorum/node-connection.js';
import { QuorumNode } from '../../libs/distribute-lock/src/store/quorum/quorum-node.js';
import { Tally } from '../../libs/distribute-lock/src/store/quorum/poll.js';
import { ServerClock } from '../../libs/distribute-lock/src/store/redis/server-clock.js';
import { patch, type Restore } from './patch.js';
import { NodeModel } from './quorum/node-model.js';
import { SimulatedConnection } from './quorum/simulated-connection.js';
import { QuorumWorld, type MakeNode } from './quorum/quorum-world.js';

/** For a longer search: `SIM_QUORUM=100000 SIM_DRAW=7`. To repeat one history with a trace: `SIM_SEED=...`. */
const HISTORIES = Number(process.env['SIM_QUORUM'] ?? 600);
const FIRST = Number(process.env['SIM_DRAW'] ?? 1) * 1_000_000;
/** A mutant that survives this many histories shows a missing test. They are the same for every draw. */
const MOST_HISTORIES = 3_000;
const FIRST_OF_MUTANTS = 1_000_000;
/** The first history of the search for rare violations; it precedes a known violation. */
const BEGINS_AT: Readonly<Record<string, number>> = { 'a vote that a renewal restores and counts': 20_000 };

interface Outcome {
  readonly histories: number;
  readonly holds: number;
  readonly broken?: string;
}

async function runHistories(count: number, first = FIRST, makeNode?: MakeNode, trace?: string[]): Promise<Outcome> {
  let holds = 0;
  for (let i = 0; i < count; i += 1) {
    const world = await new QuorumWorld(first + i, makeNode, trace).run();
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

/** Nodes without one measure. */
const NODES: Record<string, MakeNode> = {
  'a vote that is granted twice': (surroundings) =>
    new (class extends NodeModel {
      override acquire(...args: [string, string, string, number, number, boolean]): NodeReply {
        if (this.voted(args[0]) !== undefined) this.votes.delete(args[0]);
        return super.acquire(...args);
      }
    })(surroundings),
  'fencing tokens that are not kept': (surroundings) =>
    new (class extends NodeModel {
      override fence(): NodeReply {
        return [1, 0, 0];
      }
    })(surroundings),
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

  it.each(Object.entries(NODES))('%s', async (name, makeNode) => {
    noticed(name, await runHistories(MOST_HISTORIES, FIRST_OF_MUTANTS, makeNode));
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
