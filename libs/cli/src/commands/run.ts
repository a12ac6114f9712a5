import { isatty } from 'node:tty';

import { Run } from '../run/run.js';
import { startFacts } from '../run/environment.js';
import { lockOptions } from '../run/acquire.js';
import { Signals } from '../run/signals.js';
import { timesOf } from '../run/times.js';
import { urlOf } from '../connection.js';
import type { Execute } from './command.js';

const STANDARD_STREAMS = [0, 1, 2];

export const run: Execute<'run'> = async (line, messages) => {
  const times = timesOf(line.values);
  const options = lockOptions(line.values, line.command[0], times);
  urlOf(line.values); // before any process starts
  const facts = startFacts();
  const terminal = STANDARD_STREAMS.some((descriptor) => isatty(descriptor));
  const signals = new Signals(terminal, facts.ignoresHangUp);
  return new Run({ line, messages, times, options, facts, terminal, signals }).execute();
};
