import {
  closedAtServer,
  delayedBytes,
  halfOpen,
  lostReply,
  lostSubscribe,
  oddReplies,
  refused,
  unresponsive,
  withinMulti,
} from './support/faults.js';
import { describeFaults } from './support/use-trials.js';

describeFaults('one primary, RESP2', [
  halfOpen('inbox'),
  closedAtServer('inbox'),
  delayedBytes('inbox'),
  lostSubscribe,
  halfOpen('commands'),
  closedAtServer('commands'),
  delayedBytes('commands'),
  lostReply('commands'),
  ...oddReplies,
  withinMulti,
  unresponsive('all servers'),
  refused('all servers'),
]);
