import { SCRIPTS } from '../../sockets/support/faults.js';
import type { FaultProxy } from '../../support/proxy/fault-proxy.js';

/** Errors after which the same command may succeed, also one that no release of the library knows. */
const ERRORS = [
  "MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk",
  'ERR internal error',
  'INPROG Failover already in progress',
  'NEWERROR an error of a later release',
];
const ONE_IN = 10;

/** One script call in ten gets an error and does not reach the server. */
export function startErrors(ways: readonly FaultProxy[]): void {
  for (const way of ways) {
    let calls = 0;
    const replyTo = (): string | undefined => {
      calls += 1;
      return calls % ONE_IN === 0 ? `-${ERRORS[(calls / ONE_IN) % ERRORS.length]}\r\n` : undefined;
    };
    way.prepare = (connection) => connection.interceptSome(SCRIPTS, replyTo);
    for (const connection of way.open()) way.prepare(connection);
  }
}

export function endErrors(ways: readonly FaultProxy[]): void {
  for (const way of ways) {
    way.prepare = () => {};
    for (const connection of way.open()) connection.endIntercept();
  }
}
