import type { RunScript } from '../../support/run-script.js';
import { describeCall, describeKeys } from './describe-difference.js';
import { isRecord } from './dump-keys.js';
import { applyForeign } from './foreign-command.js';
import { msOf, type Checkpoint, type LogEntry, type RecordedCall } from './log-entries.js';
import { RecordedServer } from './recorded-server.js';
import { replayCall, shownKey } from './replay-call.js';
import { END } from './server-log.js';

/** What a replay found. */
export interface ReplayReport {
  /** Calls of scripts that the server executed. */
  calls: number;
  /** Calls whose reply, messages and state were equal. */
  replayed: number;
  /** Calls that only the next checkpoint covers, by reason. */
  readonly skipped: Record<string, number>;
  /** Checkpoints whose keys were compared. */
  compared: number;
  /** Whether the keys at the end of the history were compared. */
  endCompared: boolean;
  readonly differences: string[];
}

export const emptyReport = (): ReplayReport => ({
  calls: 0,
  replayed: 0,
  skipped: {},
  compared: 0,
  endCompared: false,
  differences: [],
});

/** Ends of keys this close to a checkpoint are not compared: only one side may still have the key. */
const CLOSE_MS = 5;

/** The server refuses a write, as a replica does. A script may have done a part of its work. */
const REFUSED = /(?:READONLY|OOM|MISCONF|NOREPLICAS|MASTERDOWN) /;

const UNCLEAR = 'key ends during the call';

/** Replays the log of one connection to a server by the rules, in memory. Adds what it finds to the report. */
export class Replay {
  /** The keys of the server; undefined after an event that the log does not explain, until the next checkpoint. */
  private server: RecordedServer | undefined;
  private unknownSince = 'before the first checkpoint';
  private seen = 0;
  private isFirst = true;

  constructor(
    private readonly runScript: RunScript,
    private readonly report: ReplayReport,
  ) {}

  run(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      if (entry.type === 'call') this.call(entry);
      else if (entry.type === 'checkpoint') this.checkpoint(entry);
      else if (this.server !== undefined) {
        this.server = applyForeign(this.server, entry);
        if (this.server === undefined) this.unknownSince = `after ${entry.words[0]}`;
      }
    }
  }

  private call(call: RecordedCall): void {
    this.seen += 1;
    this.report.calls += 1;
    if (this.server === undefined) return this.skip(this.unknownSince);
    if (REFUSED.test(JSON.stringify(call.reply))) return this.lose('refused write');
    const result = replayCall(this.runScript, this.server, call);
    if (result.type === 'unclear') {
      if (call.after === undefined) return this.lose(UNCLEAR);
      this.server.with(call.keys, call.after);
      return this.skip(UNCLEAR);
    }
    if (result.type === 'different') {
      const keys = this.server.dump(msOf(call.began)).filter(([key]) => call.keys.includes(key));
      this.report.differences.push(describeCall(call, result, keys));
      this.server = undefined;
      this.unknownSince = 'after a difference';
      return;
    }
    this.server = result.server;
    this.report.replayed += 1;
  }

  private checkpoint(checkpoint: Checkpoint): void {
    const { keys, role, records, label } = checkpoint;
    if (this.isFirst) {
      const unseen = records - this.seen;
      this.isFirst = false;
      this.report.calls += unseen;
      this.skip('before MONITOR', unseen);
    }
    this.seen += 1;
    if (role !== 'master') {
      this.server = undefined;
      this.unknownSince = 'on a replica';
      return;
    }
    if (this.server !== undefined) {
      this.report.compared += 1;
      if (label === END) this.report.endCompared = true;
      const difference = describeKeys(checkpoint, keysAt(this.server, checkpoint), keysOf(checkpoint));
      if (difference !== undefined) this.report.differences.push(difference);
      else return;
    }
    this.server = RecordedServer.of(keys);
  }

  /** The state is unknown from now on. */
  private lose(reason: string): void {
    this.server = undefined;
    this.unknownSince = `after: ${reason}`;
    this.skip(reason);
  }

  private skip(reason: string, count = 1): void {
    if (count > 0) this.report.skipped[reason] = (this.report.skipped[reason] ?? 0) + count;
  }
}

function keysAt(server: RecordedServer, checkpoint: Checkpoint): string[] {
  return server
    .dump(msOf(checkpoint.began))
    .filter(([key, , endsAt]) => !isRecord(key) && !isClose(checkpoint, endsAt ?? -1))
    .map(([key, content, endsAt]) => shownKey([key, content, String(endsAt ?? -1)]))
    .sort();
}

function keysOf(checkpoint: Checkpoint): string[] {
  return checkpoint.keys
    .filter(([, , endsAt]) => !isClose(checkpoint, Number(endsAt)))
    .map(shownKey)
    .sort();
}

const isClose = ({ began, ended }: Checkpoint, endsAt: number): boolean =>
  endsAt !== -1 && endsAt >= msOf(began) - CLOSE_MS && endsAt <= msOf(ended) + CLOSE_MS;
