import { bundled } from '../../support/bundled.js';
import { SecondProcess } from '../../support/second-process.js';
import type { WorldSettings } from '../plan/world-plan.js';
import type { PlantName } from './plants.js';

/** The settings of a worker. */
export interface WorkerSettings {
  readonly name: string;
  /** The number of its slot. */
  readonly number: number;
  readonly world: WorldSettings;
  readonly url: string;
  /** Whether the locks get a client of the application instead of the URL. */
  readonly ownClient: boolean;
  /** Version of RESP of that client. */
  readonly protocol: 2 | 3;
  readonly registerUrl: string;
  /** The file of its events. */
  readonly file: string;
  readonly plant?: PlantName;
}

export type ToWorker = {
  run: { readonly operations: number };
  probe: undefined;
  close: { readonly drainTimeoutMs: number };
};

type FromWorker = { ready: undefined; done: undefined; probed: undefined };

const SCRIPT = new URL('./worker.child.ts', import.meta.url);

/** A process with callers. */
export class Worker extends SecondProcess<FromWorker, ToWorker> {
  constructor(readonly settings: WorkerSettings) {
    super(bundled(SCRIPT), { HISTORY_WORKER: JSON.stringify(settings) }, []);
  }
}
