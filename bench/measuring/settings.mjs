/** The number and the duration of measurements. */
export const full = {
  rounds: 5,
  /** Libraries that poll take long to measure, and differ by a large factor. */
  peerRounds: 2,
  warmUpCycles: 60_000,
  uncontendedMs: 1_000,
  burstMs: { warmUp: 300, fast: 500, peer: 3_000 },
  strictBursts: 3_000,
  loopMs: 3_000,
  crossedMs: 10_000,
  handOffs: 60,
  parkedMs: { ours: { settleMs: 2_000, forMs: 15_000 }, others: { settleMs: 1_000, forMs: 3_000 } },
  peersEverywhere: true,
};

/** Shows large regressions; single figures may differ by 20 % from those of the full run. */
export const quick = {
  rounds: 2,
  peerRounds: 1,
  warmUpCycles: 20_000,
  uncontendedMs: 300,
  burstMs: { warmUp: 100, fast: 200, peer: 1_000 },
  strictBursts: 1_000,
  loopMs: 1_000,
  crossedMs: 2_000,
  handOffs: 24,
  parkedMs: { ours: { settleMs: 1_500, forMs: 5_000 }, others: { settleMs: 200, forMs: 500 } },
  /** By default peers are measured only where a goal refers to them. */
  peersEverywhere: false,
};
