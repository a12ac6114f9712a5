export { lockMetrics, type LockMetrics, type LockMetricsOptions } from './lock-metrics.js';
