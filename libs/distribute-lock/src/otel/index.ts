export { type LockTelemetry, type LockTelemetryOptions, lockTelemetry } from './lock-telemetry.js';
