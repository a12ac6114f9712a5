import { MEMBERS, NO_PLACE, OTHER_COUNT } from './reply-codes.js';
import { NEW_RECORD_MS } from '../protocol.js';
import { nowMs } from './clock.js';
import { emptyTable, joined, memberParts, toNumber } from './host.js';
import type { Reply } from './reply.js';
import { ARGV, KEYS, redis } from './server.js';

/** The ids in the record of a server, each with the end of its place. */
interface MemberPlaces {
  readonly ends: Record<string, number | undefined>;
  count: number;
  /** The id of the server itself. */
  own: string | undefined;
}

/**
 * Keeps the ids of the servers that processes use as the nodes of one quorum. Each of these servers has a record of them.
 *
 * The record has one place for each node. An id keeps its place while a process that is connected to its server renews it,
 * and for some time after that. A further id is refused until a place is free, so no two processes that both reach this
 * server can count the votes of two different lists of nodes. The record also has the id of the server itself.
 *
 * A server that lost its data has no id. A process that knew the server gives it the former id. Another process may be
 * faster and give it a new one. So for some time the record of a new id is replaced by that of a process that knew the server.
 *
 * Keys: the record, a sorted set. `=<id>` is the id of this server, `+<id>` that of another node, `#<count>` the number of
 * nodes; `!new` is there while the id of this server is new. The score is the time in ms at which the member ends. The key
 * expires with the last of them.
 *
 * Arguments: the number of nodes in the list of the process; the time in ms for which the places are kept; 1 if the process
 * knows the id of this server from an earlier answer, else 0; the id of this server, if it has none; the ids of the nodes to
 * which the process is connected.
 *
 * @returns three values:
 * - `MEMBERS, 0, id`: every id has a place; id is the id of this server
 * - `NO_PLACE, t, ids`: ids is the id of this server and those without a place, separated by spaces; t is the latest end of a
 *   place of an id that the process did not send
 * - `OTHER_COUNT, ms, n`: processes use this server in a list of n nodes; nothing changed; the record of n ends in ms
 */
export function runMembers(): Reply {
  const [record] = KEYS;
  const [nodes, keepMs, known, id] = ARGV;
  const endsAt = nowMs() + toNumber(keepMs);
  redis.call('ZREMRANGEBYSCORE', record, '-inf', nowMs());
  const isNew = redis.call('ZSCORE', record, '!new') !== false;
  // A process that knew the server gives it the former id.
  if (known === '1' && isNew && redis.call('ZSCORE', record, '=' + id) === false) redis.call('DEL', record);
  const places: MemberPlaces = { ends: emptyTable(), count: 0, own: undefined };
  const other = readPlaces(record, nodes, places);
  if (other !== undefined) return other;
  keepPlace(record, '#' + nodes, endsAt);
  if (places.own === undefined) {
    places.own = id;
    if (known !== '1') redis.call('ZADD', record, nowMs() + NEW_RECORD_MS, '!new');
  }
  keepPlace(record, '=' + places.own, endsAt);
  if (places.ends[places.own] === undefined) places.count += 1;
  const refused = keepOthers(record, places, toNumber(nodes), endsAt);
  if (redis.call('PTTL', record) < toNumber(keepMs)) redis.call('PEXPIRE', record, keepMs);
  if (refused.length === 0) return [MEMBERS, 0, places.own];
  return [NO_PLACE, latestOfOthers(places), places.own + ' ' + joined(refused)];
}

/** Reads the record; returns a reply if processes use the server in a list of another length. */
function readPlaces(record: string, nodes: string, places: MemberPlaces): Reply | undefined {
  const members = redis.call('ZRANGE', record, 0, -1, 'WITHSCORES');
  for (let i = 0; i < members.length; i += 2) {
    const [kind, name] = memberParts(members[i]);
    const ends = toNumber(members[i + 1]);
    if (kind === '#') {
      if (name !== nodes) return [OTHER_COUNT, ends - nowMs(), name];
    } else if (kind !== undefined) {
      if (kind === '=') places.own = name;
      if (places.ends[name] === undefined) places.count += 1;
      places.ends[name] = Math.max(places.ends[name] ?? 0, ends);
    }
  }
  return undefined;
}

function keepPlace(record: string, member: string, endsAt: number): void {
  redis.call('ZADD', record, 'GT', endsAt, member);
}

/** Keeps the places of the other nodes of the process; returns the ids without a place. */
function keepOthers(record: string, places: MemberPlaces, nodes: number, endsAt: number): string[] {
  const { ends, own } = places;
  const refused: string[] = [];
  for (let i = 4; i < ARGV.length; i += 1) {
    const other = ARGV[i];
    const isPresent = ends[other] !== undefined;
    if (other !== own && !isPresent && places.count >= nodes) refused.push(other);
    else if (other !== own) {
      if (!isPresent) places.count += 1;
      ends[other] = endsAt;
      keepPlace(record, '+' + other, endsAt);
    }
  }
  return refused;
}

/** The latest end of a place of an id that the process did not send. */
function latestOfOthers({ ends, own }: MemberPlaces): number {
  const sent = emptyTable<boolean>();
  sent[own!] = true;
  for (let i = 4; i < ARGV.length; i += 1) sent[ARGV[i]] = true;
  let latest = 0;
  for (const name in ends) if (sent[name] !== true) latest = Math.max(latest, ends[name] ?? 0);
  return latest;
}
