import type { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import type { SemaphoreTable } from '../../libs/distribute-lock/src/store/memory/semaphore-table.js';
import type { TableHost } from '../../libs/distribute-lock/src/store/memory/table-state.js';

/** Creates the lock table; the mutants create tables with a defect. */
export type MakeTable = (host: TableHost) => LockTable;
export type MakeSemaphores = (host: SimulatedTableHost, locks: LockTable) => SemaphoreTable;

/** A server does not know the clocks of its clients; some mutants do. */
export interface SimulatedTableHost extends TableHost {
  /** The clock of the process that sent the current command. */
  clientNow(): number;
}

/** The tables of a server. */
export interface Tables {
  readonly makeTable: MakeTable;
  readonly makeSemaphores: MakeSemaphores;
}
