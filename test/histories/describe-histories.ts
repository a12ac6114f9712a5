import { rm } from 'node:fs/promises';

import { Checker } from './run/checker.js';
import { runHistory, type RecordedRun } from './run/history-run.js';
import { faultOfReplay, summaryOfReplay } from './replay/judge-replay.js';
import { THEME_NAMES } from './plan/themes.js';
import type { WorldSettings } from './plan/world-plan.js';
import { FROM, OPERATIONS, OPERATIONS_EACH, SEED, THEME, THEME_SHARE } from './settings.js';

/** Number of spec files, which run in parallel. */
const PARTS = 2;

/** The least share of the calls of all histories of a file that must be replayed. */
const LEAST_REPLAYED = 0.95;

const checker = new Checker();
const total = { calls: 0, replayed: 0 };

afterAll(() => expect(total.replayed).toBeGreaterThanOrEqual(LEAST_REPLAYED * total.calls));

/** Runs the histories of one of the spec files, one test per seed. */
export function describeHistories(part: number): void {
  const operations = Math.min(OPERATIONS, OPERATIONS_EACH);
  const seeds = seedsOf(OPERATIONS).filter((_, i) => i % PARTS === part);
  // Another part, or a theme, has the only seed.
  if (seeds.length === 0 || THEME !== undefined) return hasNone();

  it.each(seeds)(
    `keeps every rule in ${operations} operations, seed %i`,
    (seed) => keepsEveryRule({ seed, operations }),
    300_000,
  );
}

/** Runs the histories of every theme, a few at the same time, because their processes mostly wait. */
export function describeThemes(): void {
  const operationsEach = OPERATIONS * THEME_SHARE;
  const themes = THEME === undefined ? THEME_NAMES : [THEME];
  if (SEED !== undefined && THEME === undefined) return hasNone();

  const operations = Math.round(SEED === undefined ? Math.min(operationsEach, OPERATIONS_EACH) : OPERATIONS);
  const worlds = themes.flatMap((theme) => seedsOf(operationsEach).map((seed) => ({ theme, seed, operations })));
  it.concurrent.each(worlds)(
    'keeps every rule in $operations operations of the theme $theme, seed $seed',
    (world) => keepsEveryRule(world),
    300_000,
  );
}

function hasNone(): void {
  it('has no history in this run', () => expect(SEED ?? OPERATIONS).toBeDefined());
}

async function keepsEveryRule(world: WorldSettings): Promise<void> {
  const startedAt = performance.now();
  const run = await runHistory(world);
  const { count, rules, shown, replay } = await checker.check(run.folder);
  total.calls += replay.calls;
  total.replayed += replay.replayed;
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(`${summary(run)}, ${summaryOfReplay(replay)}, ${seconds} s\n`);
  const theme = world.theme === undefined ? '' : ` --theme ${world.theme}`;
  const repeat = `npm run test:histories --${theme} --seed ${world.seed} --operations ${world.operations}`;
  const where = `Repeat the plan with "${repeat}"; all events are in ${run.folder}.`;
  if (count > 0) throw new Error(`${count} violations of: ${rules.join(', ')}. ${where}\n${shown.join('\n\n')}`);
  const fault = faultOfReplay(replay);
  if (fault !== undefined) throw new Error(`The replay of the calls failed. ${where}\n${fault}`);
  await rm(run.folder, { recursive: true });
}

function seedsOf(operations: number): number[] {
  const count = SEED === undefined ? Math.max(1, Math.round(operations / OPERATIONS_EACH)) : 1;
  const first = SEED ?? FROM;
  return Array.from({ length: count }, (_, i) => first + i);
}

function summary({ plan, events }: RecordedRun): string {
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  const faults = count('fault') + count('killed') + count('shutdown') - plan.processes + count('data-lost');
  return `history ${plan.seed} (${[plan.mood, plan.theme].filter(Boolean).join(', ')}): ${count('ask')} operations, ${count('granted')} grants, ${faults} faults`;
}
