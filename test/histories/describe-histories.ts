import { rm } from 'node:fs/promises';

import { checkHistory } from './check/check-history.js';
import { describeViolation } from './check/describe.js';
import { runHistory, type RecordedRun } from './run/history-run.js';
import { FROM, OPERATIONS, OPERATIONS_EACH, SEED } from './settings.js';

/** Number of spec files, which run in parallel. */
const PARTS = 2;
const SHOWN = 5;

/** Runs the histories of one of the spec files, one test per seed. */
export function describeHistories(part: number): void {
  const seeds = seedsOf(part);
  const operations = Math.min(OPERATIONS, OPERATIONS_EACH);
  // Another part runs the only seed.
  if (seeds.length === 0) return it('has no history in this run', () => expect(SEED ?? OPERATIONS).toBeDefined());

  it.each(seeds)(
    `keeps every rule in ${operations} operations, seed %i`,
    async (seed) => {
      const startedAt = performance.now();
      const run = await runHistory({ seed, operations });
      const violations = checkHistory(run.events);
      process.stdout.write(`${summary(run)}, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n`);
      if (violations.length > 0) {
        const shown = violations.slice(0, SHOWN).map((violation) => describeViolation(violation, run.events));
        const rules = [...new Set(violations.map(({ rule }) => rule))].join(', ');
        const repeat = `npm run test:histories -- --seed ${seed} --operations ${operations}`;
        throw new Error(
          `${violations.length} violations of: ${rules}. Repeat the plan with "${repeat}"; all events are in ${run.folder}.\n${shown.join('\n\n')}`,
        );
      }
      await rm(run.folder, { recursive: true });
    },
    300_000,
  );
}

function seedsOf(part: number): number[] {
  const count = SEED === undefined ? Math.max(1, Math.round(OPERATIONS / OPERATIONS_EACH)) : 1;
  const first = SEED ?? FROM;
  return Array.from({ length: count }, (_, i) => first + i).filter((_, i) => i % PARTS === part);
}

function summary({ plan, events }: RecordedRun): string {
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  const faults = count('fault') + count('killed') + count('shutdown') - plan.processes + count('data-lost');
  return `history ${plan.seed} (${plan.mood}): ${count('ask')} operations, ${count('granted')} grants, ${faults} faults`;
}
