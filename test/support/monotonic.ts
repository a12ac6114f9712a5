/** Milliseconds of the monotonic clock of the system, which all processes of this machine share. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
