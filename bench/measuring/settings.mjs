/** How often and how long is measured. */
export const full = {
  rounds: 5,
  /** Libraries that poll are slow to measure, and far off. */
  peerRounds: 3,
  warmUpMs: 1_500,
  uncontendedMs: 1_500,
  burstMs: { warmUp: 300, fast: 500, peer: 5_000 },
  strictBursts: 4_000,
  loopMs: 3_000,
};

/** Enough to see whether something is badly off; single figures may be 20 % from those of the full run. */
export const quick = {
  rounds: 3,
  peerRounds: 1,
  warmUpMs: 400,
  uncontendedMs: 300,
  burstMs: { warmUp: 100, fast: 200, peer: 1_500 },
  strictBursts: 1_000,
  loopMs: 1_000,
};
