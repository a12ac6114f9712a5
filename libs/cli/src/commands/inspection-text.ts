import type { LockHolderInfo, LockInspection } from 'nestjs-distribute-lock/core';

/** One line about a lock, and one line for each holder. */
export function inspectionText(state: LockInspection): string {
  return [headOf(state), ...state.holders.flatMap((holder) => linesOf(holder, state))].join('\n');
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

/** The number of holders whose lease is detached. */
export const detachedOf = ({ holders }: LockInspection): number =>
  holders.filter(({ detached }) => detached === true).length;

function linesOf(holder: LockHolderInfo, { holders, remainingMs }: LockInspection): string[] {
  const { process, host, pid, application, detached, holds } = holder;
  if (detached === true) {
    // Of several holders, the inspection knows the end of the last one only.
    const left = holders.length === 1 ? `, ${leftText(remainingMs)}` : '';
    return [`  detached${left}: no process renews the lease, and a ticket continues it`];
  }
  const where = host === undefined ? `process ${process}` : `${host} ${pid} ${application}`;
  if (holds.length === 0) return [`  ${where}`];
  return holds.map(
    ({ name, heldMs, fencingToken }) => `  ${where}  ${name}, for ${seconds(heldMs)}, fencing token ${fencingToken}`,
  );
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`;
