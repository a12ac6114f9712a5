/** Milliseconds of the system's monotonic clock: the same for every process of this machine, and no wall clock. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
