import { closedAtServer, halfOpen, lostReply, refused, unresponsive } from './support/faults.js';
import { describeFaults } from './support/use-trials.js';

describeFaults('Sentinel', [
  halfOpen('commands'),
  closedAtServer('commands'),
  lostReply('commands'),
  unresponsive('its server'),
  refused('its server'),
]);
