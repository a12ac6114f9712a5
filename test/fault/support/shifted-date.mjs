/** Preloaded into a process; shifts its time of day by `SHIFT_MS`. */
const shiftMs = Number(process.env.SHIFT_MS);
const Real = Date;

globalThis.Date = class extends Real {
  constructor(...args) {
    if (args.length === 0) super(Real.now() + shiftMs);
    else super(...args);
  }

  static now() {
    return Real.now() + shiftMs;
  }
};
