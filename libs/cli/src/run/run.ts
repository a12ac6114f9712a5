import type { AcquireOptions, Lease, OpenedLocks } from 'nestjs-distribute-lock/core';

import { type Core, loadCore } from '../connection.js';
import { failure } from '../failures.js';
import type { Messages } from '../messages.js';
import { type CommandLine, UsageError } from '../parse.js';
import { EXIT_CODES } from '../table.js';
import { acquire, open, OutageError } from './acquire.js';
import { type CommandEnd, CommandProcess } from './command-process.js';
import { Deadlines, type EndReason } from './deadlines.js';
import type { StartFacts } from './environment.js';
import { Guard } from './guard.js';
import { codeOfSignal, endBy, type Signals } from './signals.js';
import type { RunTimes } from './times.js';

/** The lock is released, or left to its ttl, within this time after the end of the command. */
const RELEASED_WITHIN_MS = 3_000;
/**
 * A guard that is still starting reads the deadlines later, from the pipe. It needs less than this time even on a busy machine, so
 * the command waits for it only when its lock is shorter.
 */
const GUARD_WITHIN_MS = 10_000;

export interface RunSettings {
  readonly line: CommandLine<'run'>;
  readonly messages: Messages;
  readonly times: RunTimes;
  readonly options: AcquireOptions;
  readonly facts: StartFacts;
  readonly terminal: boolean;
  readonly signals: Signals;
}

/** One run: guard and lock, then the command, then the release. */
export class Run {
  private guard: Guard | undefined;
  private guardHasEnded = false;
  private whenGuardEnds: () => void = () => (this.guardHasEnded = true);

  constructor(private readonly settings: RunSettings) {}

  /** Resolves with the exit code. */
  async execute(): Promise<number> {
    let core: Core | undefined;
    let locks: OpenedLocks | undefined;
    try {
      core = await loadCore();
      locks = await open(core, this.settings);
      return await this.underLock(core, locks);
    } catch (error) {
      return await this.refused(core, error);
    } finally {
      this.guard?.done();
      await within(RELEASED_WITHIN_MS, locks?.close());
      // The queue was left, and the key is free.
      if (this.raise !== undefined) await endBy(this.raise);
    }
  }

  /** The signal by which the program ends. */
  private raise: NodeJS.Signals | undefined;

  private async underLock(core: Core, locks: OpenedLocks): Promise<number> {
    const { line, messages, options, signals } = this.settings;
    this.guard = this.newGuard();
    const lease = await acquire(core, locks, line, options, signals.wait, messages);
    try {
      messages.say('debug', `has the lock "${line.key}"`, { fencingToken: lease.fencingToken });
      return await this.command(lease, await this.readyGuard());
    } finally {
      await within(RELEASED_WITHIN_MS, lease.release());
    }
  }

  private async command(lease: Lease, guard: Guard): Promise<number> {
    const { line, times, signals, terminal, facts } = this.settings;
    const warnsOnly = line.values['on-lost'] === 'warn';
    const deadlines = new Deadlines(lease, guard, times, warnsOnly, (reason) => this.reportEnd(reason, lease));
    await deadlines.begin();
    if (signals.received !== undefined) return this.endedBy(signals.received);
    const mark = `DISTRIBUTE_LOCK_RUN=${process.pid}.${process.hrtime.bigint()}`;
    guard.starting(times.killAfterMs, { leadsGroup: !terminal, mark });
    const command = new CommandProcess({
      words: line.command,
      env: this.environment(lease, mark),
      terminal,
      ignoresHangUp: facts.ignoresHangUp,
      mark,
    });
    if (command.pid !== undefined) this.watch(command, command.pid, deadlines, guard);
    const end = await command.ended;
    if (deadlines.reason !== undefined || signals.endsOthers(end)) await command.endOthers(times.killAfterMs);
    deadlines.stop();
    const lost = deadlines.reason !== undefined || (!warnsOnly && !lease.isHeld());
    return lost ? EXIT_CODES.lost.code : this.codeOf(end);
  }

  private watch(command: CommandProcess, pid: number, deadlines: Deadlines, guard: Guard): void {
    const { signals } = this.settings;
    guard.watch(pid);
    signals.forwardTo(command);
    deadlines.watch(command);
    this.whenGuardEnds = () => deadlines.guardEnded(command);
    if (this.guardHasEnded) this.whenGuardEnds();
  }

  private environment({ key, fencingToken }: Lease, mark: string): NodeJS.ProcessEnv {
    const { facts, times } = this.settings;
    const [name, value] = mark.split('=');
    return {
      ...facts.env,
      DISTRIBUTE_LOCK_KEY: key,
      DISTRIBUTE_LOCK_FENCING_TOKEN: String(fencingToken),
      DISTRIBUTE_LOCK_TTL_MS: String(times.ttlMs),
      [name]: value,
    };
  }

  private newGuard(): Guard {
    return new Guard(() => this.whenGuardEnds());
  }

  /** The guard beside the acquire, or another one if it has ended during the wait. */
  private async readyGuard(): Promise<Guard> {
    const { guard } = this;
    if (guard !== undefined && !this.guardHasEnded && (await this.isReady(guard))) return guard;
    guard?.done();
    this.guardHasEnded = false;
    const second = this.newGuard();
    this.guard = second;
    await second.ready.catch((error: Error) => {
      throw new Error(`The guard process did not start: ${error.message}`);
    });
    return second;
  }

  private async isReady(guard: Guard): Promise<boolean> {
    if (this.settings.times.ttlMs - this.settings.times.marginMs > GUARD_WITHIN_MS) return true;
    try {
      await guard.ready;
      return true;
    } catch {
      return false;
    }
  }

  private reportEnd(reason: EndReason, lease: Lease): void {
    const { line, messages, times } = this.settings;
    const why: Readonly<Record<EndReason, string>> = {
      lease: lease.signal.aborted ? (lease.signal.reason as Error).message : 'Redis does not confirm the lock',
      'max-hold': `--max-hold (${times.maxHoldMs} ms) has passed`,
      guard: 'the guard process has ended',
    };
    const what = reason === 'lease' && line.values['on-lost'] === 'warn' ? 'goes on without the lock' : 'is ended';
    messages.say('error', `the command ${what} ("${line.key}"): ${why[reason]}`, { reason });
  }

  private codeOf(end: CommandEnd): number {
    const { line, messages } = this.settings;
    if (end.how === 'code') return end.code;
    if (end.how === 'signal') return this.endedBy(end.signal);
    const missing = end.error.code === 'ENOENT';
    messages.say(
      'error',
      `${line.command[0]}: ${missing ? 'command not found' : `cannot be executed (${end.error.code})`}`,
    );
    return missing ? EXIT_CODES.notFound.code : EXIT_CODES.notExecutable.code;
  }

  private endedBy(signal: NodeJS.Signals): number {
    this.raise = signal;
    return codeOfSignal(signal);
  }

  /** The exit code of a lock that was not acquired. */
  private async refused(core: Core | undefined, error: unknown): Promise<number> {
    const { line, messages, signals } = this.settings;
    if (signals.received !== undefined) return this.endedBy(signals.received);
    if (error instanceof UsageError) throw error;
    if (core?.isLockError(error, 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT') === true) return this.held();
    if (error instanceof OutageError || core?.isLockError(error) === true)
      return failure(error, messages, { key: line.key });
    messages.say('error', (error as Error).message, { key: line.key });
    return EXIT_CODES.failure.code;
  }

  private held(): number {
    const { line, messages } = this.settings;
    const { 'skip-ok': skips, 'held-code': code = EXIT_CODES.held.code } = line.values;
    // A skipped run of a cron job writes nothing, because cron would mail it.
    messages.say(skips === true ? 'debug' : 'warn', `the lock "${line.key}" is held`, { key: line.key });
    return skips === true ? EXIT_CODES.success.code : code;
  }
}

/** Settles with the promise, or resolves after the time. */
async function within(ms: number, promise: Promise<void> | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
