import type { Theme } from './plan/themes.js';

const env = (name: string): number | undefined => {
  const value = process.env[name];
  return value === undefined || value === '' ? undefined : Number(value);
};

/** The number of operations of all histories together; `--operations` of `npm run test:histories` sets it. */
export const OPERATIONS = env('HISTORIES_OPERATIONS') ?? 10_000;
/** The only history to run; `--seed` sets it. */
export const SEED = env('HISTORIES_SEED');
/** The only theme to run, with `--seed`; `--theme` sets it. */
export const THEME = process.env['HISTORIES_THEME'] as Theme | undefined;
/** The first seed, to run other histories; `--from` sets it. */
export const FROM = env('HISTORIES_FROM') ?? 1;
/** The number of operations of one history, unless the total is smaller. */
export const OPERATIONS_EACH = 1_250;
/** Each theme has so many operations in addition, as a share of the total. */
export const THEME_SHARE = 1 / 20;
