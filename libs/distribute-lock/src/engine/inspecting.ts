import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { basename } from 'node:path';

import type { Grant } from './lease/grant.js';
import { isDetached, processOf } from '../runtime/owner-token.js';
import type { LockState } from '../store/lock-store.js';
import type { LockHoldInfo, LockInspection } from './lock-inspection.js';

/** What a process says. A text in the store may have any form, so every part is checked. */
interface Described {
  readonly host?: string;
  readonly pid?: number;
  readonly application?: string;
  /** The sequences of owner tokens with their holds; absent if the process did not answer. */
  readonly holds?: readonly (LockHoldInfo & { readonly sequence: string })[];
}

/** The part of an owner token that no other token of its process has. It is no secret. */
const sequenceOf = (ownerToken: string): string => ownerToken.slice(processOf(ownerToken)!.length);

/** What this process says about itself, and about its grants of a key. */
export function description(grants?: readonly Grant[], now = 0): string {
  const holds = grants?.flatMap(({ ownerToken, holder }) =>
    (holder?.holds ?? []).map(({ name, fencingToken, startedAt }) => {
      const heldMs = Math.max(0, Math.round(now - startedAt));
      return { sequence: sequenceOf(ownerToken), name, heldMs, fencingToken };
    }),
  );
  const application = process.env['npm_package_name'] ?? basename(process.cwd());
  return JSON.stringify({ host: hostname(), pid: process.pid, application, holds });
}

/** Asks the process of an owner token about the key. */
export type Ask = (ownerToken: string) => Promise<string | undefined>;

/** The holds of each owner token, with the description of its process; each process is asked once. */
export async function describeHolders({ kind, holders }: LockState, ask: Ask) {
  if (kind === 'foreign') return [];
  const answers = new Map<string, Promise<Described>>();
  return Promise.all(
    holders.flatMap((ownerToken) => {
      const process = processOf(ownerToken);
      if (process === undefined) return [];
      if (!answers.has(process))
        answers.set(process, isDetached(ownerToken) ? NO_PROCESS : ask(ownerToken).then(parse));
      return answers.get(process)!.then((said) => {
        const { holds, ...rest } = said;
        const own = holds?.filter(({ sequence }) => sequence === sequenceOf(ownerToken));
        return { ownerToken, process, rest, holds: own?.map(holdOf) };
      });
    }),
  );
}

/** No process holds a detached lease, and none knows its calls. */
const NO_PROCESS: Promise<Described> = Promise.resolve({ holds: [] });

const holdOf = ({ name, heldMs, fencingToken }: LockHoldInfo): LockHoldInfo => ({ name, heldMs, fencingToken });

/** Describes what the store reports, without owner tokens: an owner token suffices to release a lock. */
export async function inspection(key: string, state: LockState, processId: string, ask: Ask): Promise<LockInspection> {
  const { kind, permits, remainingMs, waiting } = state;
  const holders = await describeHolders(state, ask);
  return {
    key,
    held: kind !== 'free',
    kind,
    ...(permits === undefined ? {} : { permits }),
    holders: holders.map(({ ownerToken, process, rest, holds = [] }) => {
      const names = holds.map(({ name }) => name);
      const detached = isDetached(ownerToken) ? { detached: true as const } : {};
      const here = process === processId;
      return Object.assign({ process: processNameOf(process), here, ...detached, names, holds }, rest);
    }),
    remainingMs,
    waiting,
  };
}

/** Hashes the process id, because every owner token contains it. */
export const processNameOf = (processId: string): string =>
  createHash('sha256').update(processId).digest('base64url').slice(0, 10);

function parse(text: string | undefined): Described {
  try {
    const { host, pid, application, holds } = JSON.parse(text ?? '') as Record<string, unknown>;
    if (![host, application].every((word) => typeof word === 'string') || typeof pid !== 'number') return {};
    const process = { host, pid, application } as Described;
    return Array.isArray(holds) && holds.every(isHold) ? { ...process, holds } : process;
  } catch {
    return {};
  }
}

const isHold = (hold: Record<string, unknown> | null): boolean =>
  typeof hold?.['sequence'] === 'string' &&
  typeof hold['name'] === 'string' &&
  [hold['heldMs'], hold['fencingToken']].every(Number.isSafeInteger);
