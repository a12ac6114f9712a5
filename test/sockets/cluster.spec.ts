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

describeFaults(
  'Cluster',
  [
    halfOpen('inbox'),
    closedAtServer('inbox'),
    halfOpen('commands'),
    closedAtServer('commands'),
    delayedBytes('commands'),
    lostReply('commands'),
    oddReply('QUEUED'),
    withinMulti,
    unresponsive('its server'),
    refused('its server'),
  ],
  10_000,
);
