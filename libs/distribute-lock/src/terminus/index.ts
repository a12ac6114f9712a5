export { LockHealthIndicator } from './lock-health.indicator.js';
