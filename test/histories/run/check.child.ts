import { parentProcess } from '../../support/parent-process.js';
import { checkHistory } from '../check/check-history.js';
import { describeViolation } from '../check/describe.js';
import type { FromChecker, ToChecker } from './checker.js';
import { readEvents } from './read-events.js';

const SHOWN = 5;

/** Checks the histories that its parent process names. */
const parent = parentProcess<ToChecker, FromChecker>();

parent.on('check', (folder) => void check(folder));

async function check(folder: string): Promise<void> {
  const events = await readEvents(folder);
  const violations = checkHistory(events);
  const described = violations.map((violation, i) => ({
    rule: violation.rule,
    text: i < SHOWN ? describeViolation(violation, events) : '',
  }));
  parent.send('checked', { folder, violations: described });
}
