import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { RunScript } from '../../support/run-script.js';
import { logEntries } from './log-entries.js';
import { emptyReport, Replay, type ReplayReport } from './replay.js';
import { LOGS } from './server-log.js';

/** Replays the logs of all servers of a history. */
export async function replayHistory(folder: string, runScript: RunScript): Promise<ReplayReport> {
  const report = emptyReport();
  const logs = join(folder, LOGS);
  for (const name of (await readdir(logs)).sort()) {
    const entries = logEntries(await readFile(join(logs, name), 'latin1'));
    new Replay(runScript, report).run(entries);
  }
  return report;
}
