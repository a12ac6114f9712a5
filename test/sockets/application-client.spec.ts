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

describeFaults("the application's client", [
  halfOpen('inbox'),
  closedAtServer('inbox'),
  delayedBytes('inbox'),
  lostSubscribe,
  halfOpen('commands'),
  closedAtServer('commands'),
  delayedBytes('commands'),
  lostReply('commands'),
  oddReply('QUEUED'),
  withinMulti,
  unresponsive('all servers'),
  refused('all servers'),
]);
