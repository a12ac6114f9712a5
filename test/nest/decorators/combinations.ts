/** All decorators of a handler in these specs. */
const NAMES = [
  'route',
  'status',
  'guard',
  'role',
  'operation',
  'responses',
  'header',
  'throttle',
  'cache',
  'cacheTtl',
  'transaction',
  'lock',
] as const;

export type DecoratorName = (typeof NAMES)[number];

/** One order of the decorators, the first one on top. */
export type Combination = readonly DecoratorName[];

/** Orders of all decorators, equal in every run. */
export function combinations(count: number): Combination[] {
  return Array.from({ length: count }, (_unused, seed) => shuffled(NAMES, seed + 1));
}

function shuffled(names: Combination, seed: number): Combination {
  const order = [...names];
  let state = seed;
  for (let last = order.length - 1; last > 0; last -= 1) {
    state = (state * 48_271) % 2_147_483_647; // Park and Miller
    const other = state % (last + 1);
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}
