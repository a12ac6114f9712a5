import { runScript } from '../../support/run-script.js';
import { parentProcess } from '../../support/parent-process.js';
import { checkHistory } from '../check/check-history.js';
import { describeViolation } from '../check/describe.js';
import { replayHistory } from '../replay/replay-history.js';
import type { FromChecker, ToChecker } from './checker.js';
import { readEvents } from './read-events.js';

const SHOWN = 5;

/** Checks the histories that its parent process names. */
const parent = parentProcess<ToChecker, FromChecker>();

parent.on('check', (folder) => void check(folder));

async function check(folder: string): Promise<void> {
  const events = await readEvents(folder);
  const violations = checkHistory(events);
  const report = {
    count: violations.length,
    rules: [...new Set(violations.map(({ rule }) => rule))],
    shown: violations.slice(0, SHOWN).map((violation) => describeViolation(violation, events)),
    replay: await replayHistory(folder, runScript),
  };
  parent.send('checked', { folder, report });
}
