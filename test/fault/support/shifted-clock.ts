const PRELOADED = new URL('./shifted-date.mjs', import.meta.url);

/** The environment of a process whose time of day is wrong by `ms`. */
export const shiftedBy = (ms: number): NodeJS.ProcessEnv => ({
  SHIFT_MS: String(ms),
  NODE_OPTIONS: `--import ${PRELOADED.href}`,
});

export const HOUR_MS = 3_600_000;
