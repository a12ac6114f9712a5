import { readFileSync } from 'node:fs';

/**
 * Milliseconds for which this process was ready to run while the machine ran other processes, since its start. 0 on a
 * system that does not report it (only Linux does).
 */
export function waitedForCpuMs(): number {
  try {
    const [, waitedNs] = readFileSync('/proc/self/schedstat', 'utf8').split(' ');
    return Number(waitedNs) / 1e6;
  } catch {
    return 0;
  }
}
