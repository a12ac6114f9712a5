/** Measures for P17. */
export const measuresOfResults = [
  {
    promise: 'P17',
    what: 'a result waits 100 ms at most for the reply to its release',
    file: 'engine/releasing.ts',
    measure: 'PATIENCE_MS = 100',
    without: 'PATIENCE_MS = 10_000',
    test: ['user-result', 'when the release meets "hold"'],
  },
  {
    promise: 'P17',
    what: '... and no longer when the lock engine is closed during the release',
    file: 'runtime/timers.ts',
    measure: 'if (this.closed) return timer.forgotten(false);',
    without: 'if (this.closed) return;',
    test: ['runtime/timers', 'notifies its entries when it is closed, and later entries at once'],
  },
  {
    promise: 'P17',
    what: 'a release that failed is an event, never an error of the call',
    file: 'engine/lease/lease-handle.ts',
    measure: 'this.endReason === undefined ? this.end() :',
    without: 'this.endReason === undefined ? this.end().then(() => Promise.reject(new Error("release"))) :',
    test: ['user-result', 'when the release meets "forbid"'],
  },
];
