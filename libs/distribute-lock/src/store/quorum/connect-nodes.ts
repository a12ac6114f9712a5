import { LockConfigurationError } from '../../errors.js';
import { Deadline, type Timers } from '../../runtime/timers.js';
import { CONNECT_LIMIT_MS } from '../redis/link.js';
import type { Membership } from './membership.js';
import { noMajority, Poll } from './poll.js';
import type { QuorumNode } from './quorum-node.js';

/** A node that does not answer within this time is examined with the first vote. */
const STRAGGLER_LIMIT_MS = 250;
/** Pause before the nodes are asked again whether another list of nodes is in use. */
const ASK_AGAIN_MS = 500;

/**
 * Resolves when a majority of the nodes responds, and no running process uses another list of nodes.
 * @throws LockStoreError if no majority responds
 * @throws LockConfigurationError if two nodes are the same server, which their addresses may not show, or if another list
 * of nodes is in use
 */
export async function connectNodes(
  nodes: readonly QuorumNode[],
  membership: Membership,
  timers: Timers,
): Promise<void> {
  const poll = new Poll(nodes.length);
  const pause = (ms: number): Promise<void> => new Promise((resolve) => timers.add(new Deadline(resolve), ms));
  const answers = nodes.map(
    (node) =>
      new Promise<void>((resolve) => {
        poll.request(
          node,
          (result) => membership.introduce(node, CONNECT_LIMIT_MS, result),
          ({ reply }) => {
            resolve();
            return reply instanceof Error ? reply : 'yes';
          },
        );
      }),
  );
  const end = await poll.close();
  if (end.outcome !== 'yes') throw noMajority(end);
  await Promise.race([Promise.all(answers), pause(STRAGGLER_LIMIT_MS)]);
  // The first round completes the ids of the connected nodes, the second one their places.
  await membership.round();
  await membership.round();
  refuseTwins(membership, nodes.filter((node) => node.connection.ready).length);
  while (membership.conflict === undefined && membership.undecided) {
    await pause(ASK_AGAIN_MS);
    await membership.round();
  }
  const fault = membership.conflict ?? membership.shortage;
  if (fault !== undefined) throw new LockConfigurationError(fault);
}

function refuseTwins({ twins }: Membership, responding: number): void {
  if (twins.length === 0) return;
  throw new LockConfigurationError(
    `Of the ${responding} quorum nodes that respond, ${twins.length + 1} are the same server. ` +
      'Configure a separate server for every node; otherwise one failure removes several votes.',
  );
}
