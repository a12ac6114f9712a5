/**
 * The exhaustive search: `npm run test:model -- [--kind exclusive] [--states N] [--processes N] [--flight N] [--plant NAME] [--sample]`.
 * --kind: one kind instead of all; --states: the number of states of the first search;
 * --processes, --flight: up to 3 processes, with so many commands in flight; --plant: with this change of the rules;
 * --plants: each planted change; --sample: fewer states, as in CI.
 */
import { parseArgs } from 'node:util';

import { configOf, KINDS, type Config, type Kind } from './config.js';
import { loadRules, type Change } from '../support/load-rules.js';
import { PLANTS } from './plants.mjs';
import type { RunScript } from '../support/run-script.js';
import { Rules } from './rules.js';
import { search, STARVED, type Found, type Limits } from './search.js';
import { Names } from './state.js';

const { values } = options();

function options() {
  try {
    return parseArgs({
      options: {
        kind: { type: 'string' },
        states: { type: 'string' },
        processes: { type: 'string' },
        flight: { type: 'string' },
        plant: { type: 'string' },
        plants: { type: 'boolean', default: false },
        sample: { type: 'boolean', default: false },
        verbose: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return endWith((error as Error).message);
  }
}

/** Ends the program because of a wrong option. */
function endWith(message: string): never {
  console.error(`model: ${message}`);
  process.exit(2);
}

/** The whole number of an option, from 1 to `most`. */
function wholeNumber(name: 'states' | 'processes' | 'flight', otherwise: number, most: number): number {
  const text = values[name];
  const number = text === undefined ? otherwise : Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  return endWith(`--${name} must be a whole number from 1 to ${most}, but is "${text}".`);
}

/** Up to three processes with three commands in flight, then fewer for the waiters. */
interface Part {
  readonly what: string;
  readonly config: Config;
  readonly limits: Limits;
}

function partsOf(kind: Kind, states: number): Part[] {
  const processes = wholeNumber('processes', 3, 3);
  const onDepth = (depth: number, count: number): void => {
    if (values.verbose) console.log(`  depth ${depth}: ${count} states`);
  };
  const flight = wholeNumber('flight', 3, 3);
  const few = Math.ceil(states / 8);
  return [
    { what: `${processes} processes`, config: configOf(kind, processes, flight), limits: { states, onDepth } },
    { what: 'deep, 2 processes', config: configOf(kind, 2, 1), limits: { states, onDepth } },
    { what: 'a ticket, 2 processes', config: configOf(kind, 2, 2, true), limits: { states, onDepth } },
    {
      what: 'waiters, 2 processes',
      config: configOf(kind, 2, 2),
      limits: { states: few, waiters: { closure: 4 * states }, onDepth },
    },
    {
      what: 'waiters, 3 processes',
      config: configOf(kind, 3, 1),
      limits: { states: few, waiters: { closure: 4 * states }, onDepth },
    },
  ];
}

async function runPart({ config, limits }: Part, change?: Change): Promise<Found> {
  const names = new Names(config);
  const settings = { durations: config.durations, changes: change === undefined ? [] : [change] };
  const { runScript } = await loadRules<{ runScript: RunScript }>('test/support/run-script.ts', settings);
  return search(new Rules(config, names, runScript), limits);
}

function show(kind: Kind, { what }: Part, found: Found): void {
  const { states, expanded, depth, seconds, isComplete } = found;
  const memory = Math.round(process.memoryUsage.rss() / 2 ** 20);
  console.log(
    `${kind}, ${what}: ${states.toLocaleString('en')} states, ${expanded.toLocaleString('en')} expanded, depth ${depth}${isComplete ? ' (all)' : ''}, ${seconds.toFixed(1)} s, ${Math.round(states / seconds).toLocaleString('en')} states/s, ${memory} MB`,
  );
}

function showViolation({ violation }: Found): void {
  console.log(`VIOLATION: ${violation!.invariant}`);
  violation!.schedule.forEach((move, i) => console.log(`  ${String(i + 1).padStart(2)}. ${readable(move)}`));
}

/** Short names of processes. */
const readable = (move: string): string => move.replace(/([ABCT])\1{21}/g, '$1');

async function runKind(kind: Kind, states: number): Promise<boolean> {
  for (const part of partsOf(kind, states)) {
    const found = await runPart(part);
    show(kind, part, found);
    if (found.violation !== undefined) {
      showViolation(found);
      return false;
    }
  }
  return true;
}

/** The order of the searches for a plant. */
function searchesFor({ kind, invariant }: (typeof PLANTS)[number], states: number): Part[] {
  const parts = partsOf(kind, states);
  // The searches for waiters, which are the last two, find a plant against waiting soonest.
  if (invariant === STARVED) return parts.reverse();
  // Most plants are near the first state of one of the other searches, so these come first with fewer states.
  return [...partsOf(kind, Math.ceil(states / 8)).filter(({ limits }) => limits.waiters === undefined), ...parts];
}

/** Searches for a violation of the rules with a planted change. */
async function findPlant(plant: (typeof PLANTS)[number], states: number, isShown: boolean): Promise<boolean> {
  for (const part of searchesFor(plant, states)) {
    const found = await runPart(part, plant);
    if (found.violation === undefined) continue;
    console.log(
      `${plant.name}: ${found.violation.invariant === plant.invariant ? 'found' : 'FOUND OTHERWISE'} by "${found.violation.invariant}" at ${found.states} states, ${found.violation.schedule.length} moves, ${found.seconds.toFixed(1)} s`,
    );
    if (isShown) showViolation(found);
    return found.violation.invariant === plant.invariant;
  }
  console.log(`${plant.name}: NOT FOUND`);
  return false;
}

async function main(): Promise<boolean> {
  const sampled = values.plants ? 320_000 : 40_000;
  const states = wholeNumber('states', values.sample ? sampled : 3_000_000, 100_000_000);
  if (values.plant !== undefined) {
    const plant = PLANTS.find(({ name }) => name === values.plant);
    if (plant === undefined)
      endWith(`There is no plant "${values.plant}". Plants: ${PLANTS.map(({ name }) => name).join(', ')}`);
    return findPlant(plant, states, true);
  }
  const kinds = KINDS.filter((kind) => values.kind === undefined || values.kind === kind);
  if (kinds.length === 0) endWith(`There is no kind "${values.kind}". Kinds: ${KINDS.join(', ')}`);
  let isGood = true;
  if (values.plants) {
    for (const plant of PLANTS)
      if (kinds.includes(plant.kind)) isGood = (await findPlant(plant, states, false)) && isGood;
  } else for (const kind of kinds) isGood = (await runKind(kind, states)) && isGood;
  return isGood;
}

process.exitCode = (await main()) ? 0 : 1;
