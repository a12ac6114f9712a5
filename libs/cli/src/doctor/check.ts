import type { Layout } from '../../../distribute-lock/src/store/redis/layout.js';
import { messageOf, redacted } from '../../../distribute-lock/src/store/redis/redis-errors.js';
import type { ClockWatch } from './clock-watch.js';
import { combined, type Finding } from './finding.js';
import type { LockSession } from './lock-session.js';
import { isReply, type Server, type Target } from './target.js';

/** What a check may use. */
export interface Examination {
  readonly target: Target;
  readonly layout: Layout;
  readonly locks: LockSession;
  readonly clocks: ClockWatch;
}

/** One row of the doctor. */
export interface Check {
  /** What it looks at: one sentence for the reference page. */
  readonly about: string;
  /** When the row is no success: one sentence for the reference page. */
  readonly faults: string;
  /** Rows that must not have failed. */
  readonly needs?: readonly string[];
  readonly run: (examination: Examination) => Promise<Finding>;
}

/** Runs `check` on each server at the same time. */
export async function onEachServer(
  { servers }: Pick<Target, 'servers'>,
  check: (server: Server) => Promise<Finding>,
): Promise<Finding> {
  return combined(
    await Promise.all(servers.map(async (server) => [server.address, await settled(() => check(server))] as const)),
  );
}

/** A refused command is a skipped row. Without an answer the row has failed. */
export async function settled(run: () => Promise<Finding>): Promise<Finding> {
  try {
    return await run();
  } catch (error) {
    const text = errorText(error);
    if (isReply(error)) return { result: 'skipped', finding: `The server refuses a command of this check: ${text}.` };
    const fix = 'Look at the server and at the network between it and this host.';
    return { result: 'failed', finding: `The check got no answer: ${text}.`, fix };
  }
}

/** The text of an error without credentials, and without a full stop. */
export const errorText = (error: unknown): string => redacted(messageOf(error));
