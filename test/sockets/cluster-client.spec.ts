import { closedAtServer, halfOpen, refused, unresponsive } from './support/faults.js';
import { describeFaults } from './support/use-trials.js';

describeFaults(
  "the application's Cluster client",
  [
    halfOpen('inbox'),
    closedAtServer('inbox'),
    halfOpen('commands'),
    closedAtServer('commands'),
    unresponsive('all servers'),
    refused('all servers'),
  ],
  10_000,
);
