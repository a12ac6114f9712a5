import {
  closedAtServer,
  delayedBytes,
  halfOpen,
  lostReply,
  lostSubscribe,
  oddReply,
  refused,
  unresponsive,
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
  unresponsive('all servers'),
  refused('all servers'),
]);
