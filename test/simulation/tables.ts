import type { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import type { SemaphoreTable } from '../../libs/distribute-lock/src/store/memory/semaphore-table.js';
import type { TableWorld } from '../../libs/distribute-lock/src/store/memory/table-state.js';

/** Creates the lock table; the mutants create tables with a defect. */
export type MakeTable = (world: TableWorld) => LockTable;
export type MakeSemaphores = (world: SimulatedTableWorld, locks: LockTable) => SemaphoreTable;

/** A server does not know the clocks of its clients; some mutants do. */
export interface SimulatedTableWorld extends TableWorld {
  /** The clock of the process that sent the current command. */
  clientNow(): number;
}

/** The tables of a server. */
export interface Tables {
  readonly makeTable: MakeTable;
  readonly makeSemaphores: MakeSemaphores;
}
