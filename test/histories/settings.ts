const env = (name: string): number | undefined => {
  const value = process.env[name];
  return value === undefined || value === '' ? undefined : Number(value);
};

/** How many operations all histories have together; `--operations` of `npm run test:histories` sets it. */
export const OPERATIONS = env('HISTORIES_OPERATIONS') ?? 10_000;
/** The only history to run; `--seed` sets it. */
export const SEED = env('HISTORIES_SEED');
/** The first seed, for other histories than those of every run; `--from` sets it. */
export const FROM = env('HISTORIES_FROM') ?? 1;
/** One history has so many operations, unless there are fewer in all. */
export const OPERATIONS_EACH = 1_250;
