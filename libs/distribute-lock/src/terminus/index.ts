export { LockHealthIndicator, type LockHealthDetails, type LockHealthOptions } from './lock-health.indicator.js';
