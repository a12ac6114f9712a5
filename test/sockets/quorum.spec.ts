import {
  closedAtServer,
  delayedBytes,
  halfOpen,
  lostReply,
  oddReply,
  refused,
  unresponsive,
} from './support/faults.js';
import { describeFaults } from './support/use-trials.js';

describeFaults('quorum', [
  halfOpen('commands'),
  closedAtServer('commands'),
  delayedBytes('commands'),
  lostReply('commands'),
  oddReply('QUEUED'),
  unresponsive('its server'),
  refused('its server'),
  unresponsive('all servers'),
  refused('all servers'),
]);
