import cron, { type RunCoordinator, type ScheduledTask } from 'node-cron';
import type { Locks } from 'nestjs-distribute-lock/core';

/** Tasks with `distributed: true` run each scheduled time in one process, and never beside an earlier run of their task. */
export function coordinatorOf(locks: Locks): RunCoordinator {
  const running = new Map<string, () => void>();
  return {
    shouldRun(key) {
      const [, task, time] = /^(.*):(\d{4}-\d\d-\d\dT.*Z)$/.exec(key)!; // the name of the task and its scheduled time
      return new Promise((resolve, reject) => {
        const work = (): Promise<void> =>
          new Promise((end) => {
            running.set(key, end);
            resolve(true);
          });
        locks.onceAt(`cron:${task}`, new Date(time), work).then(() => resolve(false), reject);
      });
    },
    onComplete(key) {
      running.get(key)?.();
      running.delete(key);
    },
  };
}

/** Called in every process. */
export function scheduleReports(locks: Locks, send: () => Promise<void>): ScheduledTask {
  const options = { name: 'reports', timezone: 'Europe/Berlin', distributed: true };
  return cron.schedule('0 3 * * *', send, { ...options, runCoordinator: coordinatorOf(locks) });
}
