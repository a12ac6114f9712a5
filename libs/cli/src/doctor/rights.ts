import { randomUUID } from 'node:crypto';

import type { Check } from './check.js';
import { onEachServer } from './check.js';
import { failed, type Finding, ok, warning } from './finding.js';
import { isReply, type Server, type Target } from './target.js';

/** A command that the library sends, directly or in a script. */
export interface Right {
  readonly words: readonly string[];
  /** What the rule of the ACL is named, if not by the first word. */
  readonly rule?: string;
  /** Locks work without it. */
  readonly optional?: true;
  /** It can be tried on a random key without an effect on other commands. */
  readonly harmless?: true;
}

type Names = Pick<Target, 'keys' | 'topology'>;

const tried = (...words: string[]): Right => ({ words, harmless: true });
const only = (...words: string[]): Right => ({ words });

/** The commands of the library, with a random lock of this prefix. */
export function rightsOf({ keys, topology }: Names, name = `doctor:${randomUUID()}`): Right[] {
  const lock = keys.lock(name);
  const besideLock = [keys.readers(lock), keys.gate(lock), ...keys.permits(lock), keys.fenceOf(lock), keys.fence];
  return [
    only('eval', 'return 1', '1', lock),
    only('evalsha', '0'.repeat(40), '1', lock),
    ...ofValues(lock),
    ...ofQueues(keys.queue(lock)),
    tried('del', lock),
    ...besideLock.map((key) => tried('exists', key)),
    { words: ['set', keys.process('doctor'), '', 'PX', '1'], optional: true },
    // A quorum has no tickets.
    ...(topology === 'quorum'
      ? []
      : [{ words: ['set', keys.ticket('doctor'), '', 'PX', '1'], optional: true } as const]),
    tried('time'),
    tried('ping'),
    { words: ['info'], optional: true },
    tried('publish', keys.probe, ''),
    only('subscribe', keys.probe),
    ...(topology === 'Cluster' ? OF_CLUSTER : [{ words: ['incrby', keys.fence, '1'], optional: true } as const]),
    ...(topology === 'quorum' ? [tried('exists', keys.members)] : []),
  ];
}

const ofValues = (lock: string): Right[] => [
  tried('set', lock, 'doctor', 'PX', '1000'),
  tried('get', lock),
  tried('exists', lock),
  tried('pttl', lock),
  tried('pexpire', lock, '1000'),
  tried('pexpireat', lock, '1'),
];

const ofQueues = (queue: string): Right[] => [
  tried('zadd', queue, '1', 'doctor'),
  tried('zcard', queue),
  tried('zscore', queue, 'doctor'),
  tried('zrange', queue, '0', '-1'),
  tried('zrangebyscore', queue, '0', '1'),
  tried('zremrangebyscore', queue, '5', '6'),
  tried('zrem', queue, 'doctor'),
  tried('zpopmin', queue),
  tried('unlink', queue),
];

const OF_CLUSTER: readonly Right[] = [
  { words: ['cluster', 'slots'], rule: 'cluster|slots', harmless: true },
  { words: ['cluster', 'info'], rule: 'cluster|info', harmless: true },
  only('asking'),
  only('readonly'),
];

const MISSING = /NOPERM|no permissions|ACL failure|can't run|unknown command/i;

export const rights: Check = {
  about: 'The rights of the user, by `ACL DRYRUN`; otherwise by harmless commands on a random key.',
  faults: 'Fails when a right is missing that locks or their messages need. Warns about the others.',
  needs: ['role'],
  run: ({ target, locks }) =>
    onEachServer(target, async (server) => {
      const list = rightsOf(target, await locks.keyOn(server));
      const dry = await dryRun(server, list);
      const { user, missing, how } = dry ?? (await tryAll(server, list));
      return findingOf(target, user, missing, how);
    }),
};

interface Missing {
  readonly right: Right;
  readonly text: string;
}

interface Rights {
  readonly user: string;
  readonly missing: readonly Missing[];
  readonly how: string;
}

async function dryRun({ client }: Server, list: readonly Right[]): Promise<Rights | undefined> {
  try {
    const user = String(await client.call('ACL', 'WHOAMI'));
    const missing: Missing[] = [];
    for (const right of list) {
      const reply = String(await client.call('ACL', 'DRYRUN', user, ...right.words));
      if (reply !== 'OK') missing.push({ right, text: reply });
    }
    return { user, missing, how: `ACL DRYRUN of ${list.length} commands` };
  } catch (error) {
    if (isReply(error)) return undefined;
    throw error;
  }
}

async function tryAll({ client }: Server, list: readonly Right[]): Promise<Rights> {
  const user = client.options.username ?? 'default';
  const harmless = list.filter(({ harmless: may }) => may === true);
  const missing: Missing[] = [];
  for (const right of harmless) {
    const [command, ...args] = right.words;
    try {
      await client.call(command, ...args);
    } catch (error) {
      if (!isReply(error)) throw error;
      if (MISSING.test(error.message)) missing.push({ right, text: error.message });
    }
  }
  return { user, missing, how: `${harmless.length} commands on a random key` };
}

function findingOf({ keys }: Target, user: string, missing: readonly Missing[], how: string): Finding {
  if (missing.length === 0) return ok(`User "${user}" has all rights (${how}).`);
  const names = [...new Set(missing.map(({ right }) => right.rule ?? right.words[0]))];
  const rules = [...new Set(missing.flatMap(({ right, text }) => rulesOf(right, text, keys.channels)))];
  const finding = `User "${user}" lacks rights for ${names.join(', ')} (${how}).`;
  const fix = `ACL SETUSER ${user} ${rules.join(' ')} on every server; docs/guide/deployment.md lists all rules.`;
  return missing.every(({ right }) => right.optional === true) ? warning(finding, fix) : failed(finding, fix);
}

/** The rules that grant a right. An older server does not say whether the command or its key is refused. */
function rulesOf({ words, rule }: Right, text: string, channels: string): string[] {
  const command = `+${rule ?? words[0]}`;
  const isChannel = words[0] === 'publish' || words[0] === 'subscribe';
  if (/channel/i.test(text)) return [`&${channels}`];
  if (/\bkeys?\b/i.test(text) && !/run the/i.test(text))
    return [`~${patternOf(words[words[0] === 'eval' || words[0] === 'evalsha' ? 3 : 1])}`];
  return isChannel ? [command, `&${channels}`] : [command];
}

/** The name of a key with a star for the part of the random lock. */
const patternOf = (key: string): string => key.replace(/doctor.*$/, '*');
