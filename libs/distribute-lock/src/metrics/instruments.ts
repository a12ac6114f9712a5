/** A metric of this package: base unit seconds; Prometheus adds the unit and `_total` to the name. */
export interface Instrument {
  readonly name: string;
  readonly type: 'histogram' | 'counter' | 'up-down' | 'gauge';
  /** `s` for seconds. */
  readonly unit: 's' | '1';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of the histogram's buckets, seconds. */
  readonly buckets?: readonly number[];
}

const WAIT_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const HOLD_BUCKETS = [...WAIT_BUCKETS, 30, 60, 300];

/** All metrics. `docs/reference/metrics.md` lists them, and a test compares both. */
export const INSTRUMENTS = {
  wait: {
    name: 'distribute_lock.wait.duration',
    type: 'histogram',
    unit: 's',
    help: 'How long calls waited for a lock',
    labels: ['lock.name', 'lock.kind', 'lock.outcome', 'error.type'],
    buckets: WAIT_BUCKETS,
  },
  hold: {
    name: 'distribute_lock.hold.duration',
    type: 'histogram',
    unit: 's',
    help: 'How long leases were held',
    labels: ['lock.name', 'lock.kind', 'lock.outcome'],
    buckets: HOLD_BUCKETS,
  },
  waiting: {
    name: 'distribute_lock.waiting',
    type: 'up-down',
    unit: '1',
    help: 'Callers of this process that wait for a lock',
    labels: ['lock.name', 'lock.kind'],
  },
  held: {
    name: 'distribute_lock.held',
    type: 'up-down',
    unit: '1',
    help: 'Leases that this process holds',
    labels: ['lock.name', 'lock.kind'],
  },
  oldest: {
    name: 'distribute_lock.waiting.oldest',
    type: 'gauge',
    unit: 's',
    help: 'For how long the oldest waiter of this process has waited',
    labels: ['lock.name'],
  },
  oldestHold: {
    name: 'distribute_lock.held.oldest',
    type: 'gauge',
    unit: 's',
    help: 'For how long this process has held its oldest lease',
    labels: ['lock.name'],
  },
  lost: {
    name: 'distribute_lock.lost',
    type: 'counter',
    unit: '1',
    help: 'Leases that ended before their release',
    labels: ['lock.name', 'lock.reason'],
  },
  handover: {
    name: 'distribute_lock.handover',
    type: 'counter',
    unit: '1',
    help: 'Locks that a waiter got from another holder',
    labels: ['lock.path'],
  },
  lag: {
    name: 'distribute_lock.renewal.lag',
    type: 'histogram',
    unit: 's',
    help: 'How long after they were due renewals were confirmed',
    labels: [],
    buckets: WAIT_BUCKETS,
  },
  degraded: {
    name: 'distribute_lock.degraded',
    type: 'gauge',
    unit: '1',
    help: 'Whether waiting callers poll because messages between processes do not arrive',
    labels: ['lock.connection'],
  },
} as const satisfies Record<string, Instrument>;

/** A value for each label of an instrument, in order. */
export type Labels = readonly string[];
