import {
  closedAtServer,
  delayedBytes,
  halfOpen,
  lostReply,
  oddReply,
  refused,
  unresponsive,
  withinMulti,
} from './support/faults.js';
import { describeFaults } from './support/use-trials.js';

describeFaults('quorum', [
  halfOpen('commands'),
  closedAtServer('commands'),
  delayedBytes('commands'),
  lostReply('commands'),
  oddReply('QUEUED'),
  withinMulti,
  unresponsive('its server'),
  refused('its server'),
  unresponsive('all servers'),
  refused('all servers'),
]);
