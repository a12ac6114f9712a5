export type { LockDashboardOptions } from './dashboard-options.js';
export { LockDashboardModule } from './lock-dashboard.module.js';
export { LockDashboard } from './lock-dashboard.js';
