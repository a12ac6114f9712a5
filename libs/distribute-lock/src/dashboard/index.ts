export type { LockDashboardAsyncOptions, LockDashboardOptions, LockDashboardSettings } from './dashboard-options.js';
export { LockDashboardModule } from './lock-dashboard.module.js';
export { LockDashboard } from './lock-dashboard.js';
