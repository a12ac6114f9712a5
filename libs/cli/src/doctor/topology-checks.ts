import { CHECKS_AT_START, type CheckAtStart } from '../../../distribute-lock/src/store/redis/checks-at-start.js';
import type { Check } from './check.js';
import { onEachServer, settled, errorText } from './check.js';
import { combined, failed, type Finding, ok, skipped, warning } from './finding.js';
import { numberOf, parseInfo, readInfo } from './info.js';
import { LockSession } from './lock-session.js';
import { isReply } from './target.js';

const ALL_SLOTS = 16_384;
/** From this number of masters on, messages of locks use sharded channels. */
const SHARDED_FROM = 8;
const LEAST_SENTINELS = 3;

export const topology: Check = {
  about: 'Whether the URL fits the servers: one server, Sentinel, Cluster or quorum.',
  faults:
    'Fails for the port of a Sentinel, for one node of a larger Cluster, and for a quorum that names a server twice.',
  async run({ target }) {
    const { topology: kind, servers } = target;
    const infos = await Promise.all(servers.map(({ client }) => readInfo(client, 'server')));
    const names = servers.map(({ address }) => address).join(', ');
    const [address] = names.split(', ');
    if (infos.some((info) => info.get('redis_mode') === 'sentinel'))
      return failed(
        `${address} is a Sentinel, which stores no locks.`,
        `Use redis+sentinel://${address}/NAME, where NAME is the name of the primary.`,
      );
    const ids = new Set(infos.map((info) => info.get('run_id')));
    if (kind === 'quorum' && ids.size < servers.length)
      return failed('Two nodes of the quorum are the same server.', 'Name independent servers.');
    if (kind === 'one server' && infos[0].get('redis_mode') === 'cluster') {
      const masters = numberOf(parseInfo(await servers[0].client.cluster('INFO')), 'cluster_size');
      if (masters > 1)
        return failed(
          `${address} is one node of a Redis Cluster with ${masters} masters, so locks of the other nodes fail.`,
          `Use redis+cluster://${address}.`,
        );
    }
    const text = {
      'one server': 'One server',
      Sentinel: 'A primary with Sentinel',
      Cluster: 'A Cluster',
      quorum: 'A quorum',
    };
    return ok(`${text[kind]}: ${names}.`);
  },
};

/** Remedies for advice that has none. */
const REMEDIES: Readonly<Record<string, string>> = {
  layout:
    'Connect without the proxy, or accept it: option layout "slot" of the application and --layout slot say that it is intended.',
};

/** A row of a check that each start of the library runs. */
export const atStart = (
  name: keyof typeof CHECKS_AT_START,
  texts: Pick<Check, 'about' | 'faults'> & { fine: string },
): Check => ({
  ...texts,
  async run({ target, layout }) {
    const check: CheckAtStart = CHECKS_AT_START[name];
    // The check takes a server that refuses INFO for one without a fault.
    if (name === 'eviction') await Promise.all(target.servers.map(({ client }) => readInfo(client, 'memory')));
    if (target.topology === 'quorum')
      return onEachServer(target, async ({ client }) => findingOf(await check(layout, client)));
    return findingOf(await check(layout, target.client));

    function findingOf(advice: Awaited<ReturnType<CheckAtStart>>): Finding {
      if (advice.length === 0) return ok(texts.fine);
      const parts = advice.map((text) => /^(.*\.) ([A-Z][^.]*\.)$/s.exec(text) ?? ['', text, REMEDIES[name]]);
      const finding = parts.map(([, text]) => text).join(' ');
      const fix = parts.map(([, , remedy]) => remedy).join(' ');
      return name === 'layout' ? warning(finding, fix) : failed(finding, fix);
    }
  },
});

export const coverage: Check = {
  about: 'Whether all slots of a Cluster are served.',
  faults: 'Fails when the Cluster is not in state ok or slots are missing.',
  async run({ target }) {
    if (target.topology !== 'Cluster') return skipped('This is no Cluster.');
    return onEachServer(target, async ({ client }) => {
      const info = parseInfo(await client.cluster('INFO'));
      const served = numberOf(info, 'cluster_slots_ok');
      const text = `State ${info.get('cluster_state')}, ${served} of ${ALL_SLOTS} slots served, ${info.get('cluster_size')} masters.`;
      if (info.get('cluster_state') === 'ok' && served === ALL_SLOTS) return ok(text);
      return failed(
        `${text} Locks in the other slots fail.`,
        'Repair the Cluster: redis-cli --cluster check shows the slots.',
      );
    });
  },
};

export const sharded: Check = {
  about: 'Sharded channels, which carry the messages of locks from eight masters on.',
  faults: 'Warns when a Cluster of eight masters or more refuses them: each message then goes to every node.',
  async run({ target }) {
    if (target.topology !== 'Cluster') return skipped('This is no Cluster.');
    const masters = target.servers.length;
    const needed = masters >= SHARDED_FROM;
    const lockKey = target.keys.lock(LockSession.key());
    const channel = target.keys.shardChannel('doctor-test', lockKey);
    try {
      await target.client.spublish(channel, '');
      return ok(`Sharded channels work; they are ${needed ? '' : 'not '}needed with ${masters} masters.`);
    } catch (error) {
      if (!isReply(error)) throw error;
      const text = `The Cluster refuses SPUBLISH: ${errorText(error)}.`;
      if (!needed) return skipped(`${text} It is not needed with ${masters} masters.`);
      return warning(text, 'Grant +spublish +ssubscribe +sunsubscribe on every node.');
    }
  },
};

export const sentinels: Check = {
  about: 'Whether the Sentinels can agree on a new primary.',
  faults: 'Fails without a majority. Warns about fewer than three Sentinels, and about one that does not respond.',
  async run({ target }) {
    const { sentinels: all, primaryName } = target;
    if (target.topology !== 'Sentinel') return skipped('There is no Sentinel.');
    const findings = await Promise.all(
      all.map(async ({ address, client }) => {
        try {
          return [
            address,
            ok(String(await client.call('SENTINEL', 'CKQUORUM', primaryName)).replace(/^OK /, '')),
          ] as const;
        } catch (error) {
          const fix = 'Start the Sentinels that are missing.';
          if (!isReply(error)) return [address, warning(`It does not respond (${errorText(error)}).`, fix)] as const;
          if (!error.message.startsWith('NOQUORUM'))
            return [address, await settled(() => Promise.reject(error))] as const;
          return [address, failed(`${errorText(error)}.`, fix)] as const;
        }
      }),
    );
    const result = combined(findings);
    if (result.result !== 'ok' || all.length >= LEAST_SENTINELS) return result;
    return warning(
      `${result.finding} The URL names ${all.length} Sentinels.`,
      'Name at least three Sentinels, so that the URL works while one is down.',
    );
  },
};
