import type { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import type { SemaphoreTable } from '../../libs/distribute-lock/src/store/memory/semaphore-table.js';
import type { TableWorld } from '../../libs/distribute-lock/src/store/memory/table-state.js';

/** Whatever takes the part of the lock table; broken ones are made in `mutants.ts`. */
export type MakeTable = (world: TableWorld) => LockTable;
export type MakeSemaphores = (world: SimulatedTableWorld, locks: LockTable) => SemaphoreTable;

/** A server knows what its clients' clocks say as little as any; broken tables do. */
export interface SimulatedTableWorld extends TableWorld {
  /** The clock of the process whose command is applied. */
  clientNow(): number;
}

/** The tables of a server. */
export interface Tables {
  readonly makeTable: MakeTable;
  readonly makeSemaphores: MakeSemaphores;
}
