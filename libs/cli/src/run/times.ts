import { type FlagValues, UsageError } from '../parse.js';

/** The times of one run, in milliseconds. */
export interface RunTimes {
  readonly ttlMs: number;
  /** Between TERM and KILL. */
  readonly killAfterMs: number;
  /** The lease is renewed this often: three times before the command would be ended. */
  readonly renewEveryMs: number;
  /** KILL is sent this long before the lease can end in Redis. */
  readonly marginMs: number;
  /** The command is ended after this time; `Infinity` for never. */
  readonly maxHoldMs: number;
}

const TTL_MS = 30_000;
const KILL_AFTER_MS = 5_000;
/** A shorter rest of the ttl would end the command after one slow renewal. */
const LEAST_REST_MS = 1_000;
const RENEWALS = 3;
/** A busy machine runs the timers of the guard late: 133 ms were measured. */
const MARGIN_SHARE = 0.2;
const LEAST_MARGIN_MS = 200;
const MOST_MARGIN_MS = 1_000;

/** @throws UsageError when the times contradict each other */
export function timesOf(values: FlagValues<'run'>): RunTimes {
  const { ttl: ttlMs = TTL_MS, 'kill-after': killAfterMs = KILL_AFTER_MS } = values;
  const { 'max-hold': maxHoldMs = Infinity, 'min-hold': minHoldMs = 0 } = values;
  const restMs = ttlMs - killAfterMs;
  if (restMs < LEAST_REST_MS)
    throw new UsageError(
      `--ttl is ${ttlMs} ms, but it must be at least ${killAfterMs + LEAST_REST_MS} ms: --kill-after plus 1 s.`,
    );
  if (minHoldMs > maxHoldMs)
    throw new UsageError(`--min-hold (${minHoldMs} ms) is longer than --max-hold (${maxHoldMs} ms).`);
  const marginMs = Math.min(MOST_MARGIN_MS, Math.max(LEAST_MARGIN_MS, restMs * MARGIN_SHARE));
  return { ttlMs, killAfterMs, renewEveryMs: restMs / RENEWALS, marginMs, maxHoldMs };
}
