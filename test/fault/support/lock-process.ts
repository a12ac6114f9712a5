import type { AttachOptions } from '../../../libs/distribute-lock/src/locks/locks.js';
import type { AcquireOptions } from '../../../libs/distribute-lock/src/options/lock-options.js';
import type { Duration } from '../../../libs/distribute-lock/src/options/values.js';
import { bundled } from '../../support/bundled.js';
import { SecondProcess } from '../../support/second-process.js';
import type { crowd, CrowdPlan } from './crowd.js';
import type { calls, CallsPlan, loop, LoopPlan, Usage } from './load.js';
import type { Connection } from './lock-engine.js';
import type { fight, FightPlan, flood, FloodPlan } from './loops.js';

export type LeaseNumber = number & { readonly lease: unique symbol };

export interface Granted {
  readonly lease: LeaseNumber;
  readonly ownerToken: string;
  readonly fencingToken: number;
  /** On the monotonic clock, like every `at` in this file. */
  readonly at: number;
}

/** A lease, which may be of several keys. */
export type Held = Omit<Granted, 'ownerToken'> & { readonly fencingTokens: Readonly<Record<string, number>> };

interface HeldAt {
  readonly held: boolean;
  readonly at: number;
}

/** The commands of a lock process. Each one resolves when it is done. */
export interface Commands {
  acquire(request: Omit<AcquireOptions, 'signal'> & { key: string; abort?: string }): Promise<Granted>;
  /** Starts many callers that all give up, with one signal or with one signal each. */
  crowd(plan: CrowdPlan & { abort?: string }): ReturnType<typeof crowd>;
  /** Aborts the acquire with this name. */
  abort(request: { abort: string }): Promise<void>;
  release(request: { lease: LeaseNumber }): Promise<{ at: number }>;
  /** Resolves when the signal of the lease has aborted. */
  loss(request: { lease: LeaseNumber }): Promise<HeldAt & { reason: string }>;
  isHeld(request: { lease: LeaseNumber }): Promise<HeldAt>;
  /** Blocks the event loop, and reads the lease in the same turn. */
  block(request: { ms: number; lease: LeaseNumber }): Promise<HeldAt>;
  /** Acquires the lock, blocks the event loop in the first turn of the hold, reads the lease and releases it. */
  blockAtBegin(request: Omit<AcquireOptions, 'signal'> & { key: string; ms: number }): Promise<HeldAt>;
  /**
   * Acquires the keys, blocks the event loop for `beforeMs` while the answer is under way, and again for `ms` in the first turn of
   * the hold. Reads the lease and releases it.
   */
  blockTwice(
    request: Omit<AcquireOptions, 'signal'> & { keys: readonly string[]; beforeMs: number; ms: number },
  ): Promise<HeldAt>;
  /** Blocks the event loop, and releases in the same turn. */
  blockAndRelease(request: { ms: number; lease: LeaseNumber }): Promise<void>;
  /** Reads the lease in the first turn after the process was stopped or blocked for longer than `ms`. */
  afterStandstill(request: { ms: number; lease: LeaseNumber }): Promise<HeldAt>;
  /** Acquires several keys in one call. */
  acquireMultiKey(request: Omit<AcquireOptions, 'signal'> & { keys: readonly string[] }): Promise<Held>;
  /** The hold ends at `from` here, before the command is sent. */
  detach(request: { lease: LeaseNumber; ttl: Duration }): Promise<{ ticket: string; from: number; at: number }>;
  attach(request: Omit<AttachOptions, 'signal'> & { ticket: string }): Promise<Held>;
  cancel(request: { ticket: string }): Promise<{ cancelled: boolean; at: number }>;
  /** Prints `blocked`, and blocks the event loop. */
  standStill(request: { ms: number }): Promise<void>;
  fight(plan: FightPlan): ReturnType<typeof fight>;
  flood(plan: FloodPlan): ReturnType<typeof flood>;
  loop(plan: LoopPlan): ReturnType<typeof loop>;
  /** Makes calls at a steady rate, each for a separate key. Resolves with the outcomes. */
  calls(plan: CallsPlan): ReturnType<typeof calls>;
  /** The resources that the process has used, and its longest lag since the previous call. */
  usage(request: undefined): Promise<Usage>;
  /** Resolves when the engine is closed; then the process ends. */
  shutDownOnSigterm(request: { drainTimeoutMs: number }): Promise<{ at: number }>;
  resources(request: undefined): Promise<string[]>;
}

/** The properties of a reply beside its result. */
export interface Refusal extends Error {
  readonly code: string;
  /** Of a `LeaseLostError`. */
  readonly reason?: string;
  /** When the error occurred in the process. */
  readonly at: number;
}

interface Answer {
  readonly id: number;
  readonly at: number;
  readonly result?: unknown;
  readonly error?: { code: string; reason?: string; message: string };
}

const SCRIPT = new URL('./lock-process.child.ts', import.meta.url);
type Received = { ready: undefined; answer: Answer; trouble: string };
type Sent = { call: { id: number; name: keyof Commands; args: unknown } };

/** Another process with its own locks on the same Redis. */
export class LockProcess extends SecondProcess<Received, Sent> {
  /** Errors and warnings outside its promises. */
  readonly trouble: string[] = [];
  private readonly open = new Map<number, (answer: Answer) => void>();
  private calls = 0;

  static async start(connection: Connection, env: NodeJS.ProcessEnv = {}): Promise<LockProcess> {
    const script = bundled(SCRIPT, env['TEST_IOREDIS']);
    const started = new LockProcess(script, { ...env, LOCK_CONNECTION: JSON.stringify(connection) }, []);
    started.on('trouble', (trouble) => started.trouble.push(trouble));
    started.on('answer', (answer) => started.open.get(answer.id)?.(answer));
    await started.once('ready', 60_000);
    return started;
  }

  /** Rejects with a {@link Refusal}. Never settles when the process ends before its reply. */
  do<Name extends keyof Commands>(name: Name, ...[args]: Parameters<Commands[Name]>): ReturnType<Commands[Name]> {
    const id = (this.calls += 1);
    this.send('call', { id, name, args });
    const answered = new Promise<unknown>((resolve, reject) => {
      this.open.set(id, ({ result, error, at }) => {
        this.open.delete(id);
        if (error === undefined) resolve(result);
        else reject(Object.assign(new Error(error.message), { ...error, at }));
      });
    });
    return answered as ReturnType<Commands[Name]>;
  }
}
