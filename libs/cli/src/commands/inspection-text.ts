import type { LockHolderInfo, LockInspection } from 'nestjs-distribute-lock/core';

/** One line about a lock, and one line for each holder. */
export function inspectionText(state: LockInspection): string {
  return [headOf(state), ...state.holders.flatMap((holder) => linesOf(holder))].join('\n');
}

/** The lock without its holders. */
function headOf({ key, held, kind, permits, remainingMs, waiting, holders }: LockInspection): string {
  const queue = waiting === 0 ? '' : `, ${count(waiting, 'process', 'processes')} waiting`;
  if (!held) return `${key}: free${queue}`;
  const what = permits === undefined ? KINDS[kind] : `semaphore of ${permits} permits`;
  const many = holders.length > 1 ? `, ${holders.length} holders` : '';
  return `${key}: held, ${what}${many}, ${leftText(remainingMs)}${queue}`;
}

const KINDS: Readonly<Record<LockInspection['kind'], string>> = {
  free: 'free',
  exclusive: 'exclusive',
  read: 'read lock',
  semaphore: 'semaphore',
  foreign: 'by a client without this package',
};

/** The remaining time of a lease; -1 means that the key has no expiry. */
export const leftText = (ms: number): string => (ms < 0 ? 'no expiry' : `${seconds(ms)} left`);

function linesOf({ process, host, pid, application, holds }: LockHolderInfo): string[] {
  const where = host === undefined ? `process ${process}` : `${host} ${pid} ${application}`;
  if (holds.length === 0) return [`  ${where}`];
  return holds.map(
    ({ name, heldMs, fencingToken }) => `  ${where}  ${name}, for ${seconds(heldMs)}, fencing token ${fencingToken}`,
  );
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`;
