import {
  closedAtServer,
  delayedBytes,
  halfOpen,
  lostReply,
  lostSubscribe,
  oddReply,
  refused,
  unresponsive,
  withinMulti,
} from './support/faults.js';
import { describeFaults } from './support/use-trials.js';

describeFaults('one primary, RESP3', [
  halfOpen('commands'),
  closedAtServer('commands'),
  delayedBytes('commands'),
  lostReply('commands'),
  lostSubscribe,
  oddReply('QUEUED'),
  oddReply('an array that is too short'),
  withinMulti,
  unresponsive('all servers'),
  refused('all servers'),
]);
