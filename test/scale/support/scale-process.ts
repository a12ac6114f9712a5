import { join } from 'node:path';
import type { ClusterNode } from 'ioredis';

import { SecondProcess } from '../../support/second-process.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const SCRIPT = new URL('./scale-process.child.mjs', import.meta.url);
const LIBRARY = new URL('../../../libs/distribute-lock/dist/esm/index.js', import.meta.url);

const STARTS_WITHIN_MS = 120_000;
const ANSWERS_WITHIN_MS = 1_200_000;
/** Processes that start at the same time. */
const STARTING = 4;

/** Option `connection` of the module. */
export type Connection = string | { readonly cluster: readonly ClusterNode[] };

export interface ScaleProcessSettings {
  readonly connection: Connection;
  /**
   * Applications in the process, each with its own connections and process id.
   * @defaultValue `1`
   */
  readonly applications?: number;
  /** The server of the counter that each holder increments. */
  readonly counterUrl?: string;
}

/** What callers of a process got. */
export interface Served {
  readonly served: number;
  /** Number of rejected calls by the code of their error. */
  readonly refusals: Readonly<Record<string, number>>;
}

/** The calls of the process; see `scale-process.child.mjs`. */
interface Calls {
  warmUp: [{ readonly cycles: number }, void];
  take: [Keys, void];
  release: [undefined, void];
  wait: [Keys & { readonly each: number; readonly settleMs: number }, { readonly heapPerWaiter: number }];
  served: [undefined, Served];
  loop: [{ readonly key: number; readonly options: Options; readonly forMs: number }, Served];
  cpu: [{ readonly forMs: number }, number];
}

interface Options {
  readonly ttl: string;
  readonly wait?: string;
}

interface Keys {
  readonly from: number;
  readonly to: number;
  readonly options: Options;
}

type Answer<T> = { readonly result: T } | { readonly error: string };

/** A light process that loads the built library instead of its sources. */
export class ScaleProcess extends SecondProcess {
  private calls = 0;

  constructor(
    settings: ScaleProcessSettings,
    readonly holdsFile: string,
  ) {
    const all = { library: LIBRARY.href, applications: 1, ...settings, holdsFile };
    super(SCRIPT, { SCALE_PROCESS: JSON.stringify(all) }, ['--expose-gc']);
  }

  async call<Name extends keyof Calls>(name: Name, args: Calls[Name][0]): Promise<Calls[Name][1]> {
    const id = (this.calls += 1);
    this.send(name, { id, args });
    const answer = (await this.once(`answer ${id}`, ANSWERS_WITHIN_MS)) as Answer<Calls[Name][1]>;
    if ('error' in answer) throw new Error(`The call "${name}" failed: ${answer.error}`);
    return answer.result;
  }
}

/** Processes with equal settings. */
export class Crowd {
  private constructor(readonly processes: readonly ScaleProcess[]) {}

  static async start(count: number, settings: ScaleProcessSettings): Promise<Crowd> {
    const folder = await temporaryFolder('scale-');
    const processes: ScaleProcess[] = [];
    while (processes.length < count) {
      const some = Array.from({ length: Math.min(STARTING, count - processes.length) }, (_, i) => {
        return new ScaleProcess(settings, join(folder, `holds-${processes.length + i}`));
      });
      await Promise.all(some.map((process) => process.once('ready', STARTS_WITHIN_MS)));
      processes.push(...some);
    }
    return new Crowd(processes);
  }

  /** Makes the call in all processes; `args` get the index of the process. */
  each<Name extends keyof Calls>(name: Name, args: (index: number) => Calls[Name][0]): Promise<Calls[Name][1][]> {
    return Promise.all(this.processes.map((process, index) => process.call(name, args(index))));
  }

  get holdsFiles(): string[] {
    return this.processes.map(({ holdsFile }) => holdsFile);
  }

  async end(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.kill()));
  }
}
