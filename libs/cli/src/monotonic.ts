/** Milliseconds of the monotonic clock, which is the same for all processes of the machine. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;
