import { randomBytes } from 'node:crypto';

import { LockConfigurationError } from '../../errors.js';
import { VOTED_BEFORE } from '../lua/generated/reply-codes.js';
import { newProcessId } from '../../runtime/owner-token.js';
import { CONNECT_LIMIT_MS } from '../redis/link.js';
import { NO_OWNER } from './ballot.js';
import type { StepWords } from './node-connection.js';
import { noMajority, Poll } from './poll.js';
import type { StepResult, QuorumNode } from './quorum-node.js';

/** A node that does not respond within this time is checked with the first grant. */
const TRIAL_LIMIT_MS = 250;
const TRIAL_TTL_MS = 1_000;

/**
 * Resolves when a majority of the nodes responds.
 * @throws LockStoreError if no majority responds
 * @throws LockConfigurationError if two nodes are the same server, which their addresses may not show
 */
export async function connectNodes(nodes: readonly QuorumNode[]): Promise<void> {
  const poll = new Poll(nodes.length);
  for (const node of nodes) {
    poll.request(
      node,
      (result) => node.run('', [], CONNECT_LIMIT_MS, result),
      ({ reply }) => (reply instanceof Error ? reply : 'yes'),
    );
  }
  const end = await poll.close();
  if (end.outcome !== 'yes') throw noMajority(end);
  await refuseTwins(nodes.filter((node) => !node.doubtful));
}

/** Requests votes for a new random key. A node that already has the vote is the same server as another node. */
async function refuseTwins(nodes: readonly QuorumNode[]): Promise<void> {
  const key = `quorum-trial-${randomBytes(16).toString('base64url')}`;
  const token = `${newProcessId()}:1`;
  const result = await Promise.all(nodes.map((node) => requestOne(node, key, ['a', token, token, TRIAL_TTL_MS, 1])));
  for (const node of nodes) void requestOne(node, key, ['d', token, token, '0', NO_OWNER]);
  const twins = result.filter(({ reply, resent }) => !resent && !(reply instanceof Error) && reply[0] === VOTED_BEFORE);
  if (twins.length === 0) return;
  throw new LockConfigurationError(
    `Of the ${nodes.length} quorum nodes that respond, ${twins.length + 1} are the same server. ` +
      'Configure a separate server for every node; otherwise one failure removes several votes.',
  );
}

function requestOne(node: QuorumNode, key: string, words: StepWords): Promise<StepResult> {
  return new Promise((resolve) => node.run(key, words, TRIAL_LIMIT_MS, resolve));
}
