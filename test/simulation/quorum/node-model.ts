import type { LockMessage } from '../../../libs/distribute-lock/src/store/lock-store.js';
import { NEW_RECORD_MS, QUEUE_TTL_MS } from '../../../libs/distribute-lock/src/store/protocol.js';
import {
  FENCE_TOO_LOW,
  FENCE_WRITTEN,
  MEMBERS,
  NO_PLACE,
  NO_VOTE,
  OTHER_COUNT,
  TOO_LATE,
  VOTE,
  VOTED_BEFORE,
} from '../../../libs/distribute-lock/src/store/lua/generated/reply-codes.js';
import type { NodeReply } from '../../../libs/distribute-lock/src/store/quorum/node-connection.js';

const TOKEN = /^([\w-]{22}):[0-9A-Za-z]+$/;

interface Vote {
  readonly token: string;
  endsAt: number;
}

interface Queue {
  readonly owners: string[];
  endsAt: number;
}

/** The dependencies of a node. */
export interface NodeSurroundings {
  /** Milliseconds of the clock of the node. */
  now(): number;
  /** Returns the number of receivers of the message. */
  publish(processId: string, message: LockMessage): number;
}

/** One node of a quorum: a step-by-step model of `quorum.lua` and `members.lua`. */
export class NodeModel {
  readonly votes = new Map<string, Vote>();
  readonly queues = new Map<string, Queue>();
  readonly fences = new Map<string, number>();
  /** Ends of the entries in the record of members. */
  readonly members = new Map<string, number>();

  constructor(protected readonly surroundings: NodeSurroundings) {}

  run(key: string, words: readonly (string | number)[]): NodeReply {
    if (words[0] === 'm') return this.keepMembers(words.slice(1).map(String));
    const [command = '', token = '', owner = '', x = '', y = '', deadlineMs = '0'] = words.map(String);
    const late = Number(deadlineMs) > 0 && this.surroundings.now() > Number(deadlineMs);
    if (late && (command === 'a' || command === 'w')) return [TOO_LATE, this.clockMs(), 0];
    if (command === 'a' || command === 'w')
      return this.acquire(key, token, owner, Number(x), Number(y), command === 'w');
    if (command === 'd') return this.release(key, token, owner, x === '1', y, late);
    if (this.voted(key) !== token) return this.notMine(key, token, command, Number(x));
    if (command === 'f') return this.fence(key, Number(x), Number(y));
    if (command === 'l') this.votes.get(key)!.endsAt = this.surroundings.now() + Number(x);
    else this.raise(key, Number(x));
    this.fences.set(key, Math.max(this.fences.get(key) ?? 0, Number(y)));
    return [VOTE, this.queued(key).length, 0];
  }

  /** The reply to TIME. */
  clockMs(): number {
    return Math.floor(this.surroundings.now());
  }

  /** Loses all data, like a restart. */
  forget(): void {
    for (const lost of [this.votes, this.queues, this.fences, this.members]) lost.clear();
  }

  /** The owner token that has the vote. */
  voted(key: string): string | undefined {
    const vote = this.votes.get(key);
    if (vote === undefined || vote.endsAt > this.surroundings.now()) return vote?.token;
    this.votes.delete(key);
    return undefined;
  }

  queued(key: string): readonly string[] {
    const queue = this.queues.get(key);
    if (queue === undefined || queue.endsAt > this.surroundings.now()) return queue?.owners ?? [];
    this.queues.delete(key);
    return [];
  }

  protected acquire(key: string, token: string, owner: string, ttlMs: number, block: number, wait: boolean): NodeReply {
    const voted = this.voted(key);
    if (voted !== undefined && voted !== token) {
      if (wait) {
        this.append(key, owner);
        this.tell(voted, 'contended', key);
      }
      return [
        NO_VOTE,
        Math.ceil(this.votes.get(key)!.endsAt - this.surroundings.now()),
        TOKEN.test(voted) ? voted : '',
      ];
    }
    if (voted === undefined) this.votes.set(key, { token, endsAt: this.surroundings.now() + ttlMs });
    else this.raise(key, ttlMs);
    this.unqueue(key, owner);
    const lowest = Math.max((this.fences.get(key) ?? 0) + 1, Math.floor(this.surroundings.now() * 1_000) - block + 1);
    return [voted === undefined ? VOTE : VOTED_BEFORE, lowest, this.queued(key).length];
  }

  protected notMine(_key: string, _token: string, _command: string, _x: number): NodeReply {
    return [NO_VOTE, 0, 0];
  }

  protected fence(key: string, first: number, last: number): NodeReply {
    const known = this.fences.get(key) ?? 0;
    if (known >= first) return [FENCE_TOO_LOW, known, 0];
    this.fences.set(key, last);
    return [FENCE_WRITTEN, 0, 0];
  }

  private keepMembers([nodes, keepMs, known, id, ...others]: readonly string[]): NodeReply {
    const now = this.clockMs();
    const { members } = this;
    for (const [name, end] of members) if (end <= now) members.delete(name);
    if (known === '1' && members.has('!new') && !members.has(`=${id}`)) members.clear();
    const count = [...members.keys()].find((name) => name.startsWith('#') && name !== `#${nodes}`);
    if (count !== undefined) return [OTHER_COUNT, members.get(count)! - now, count.slice(1)];
    const keep = (name: string): void => {
      members.set(name, Math.max(members.get(name) ?? 0, now + Number(keepMs)));
    };
    const ids = (): string[] => [...new Set([...members.keys()].filter(isId).map(nameOf))];
    const before = [...members.keys()].find((name) => name.startsWith('='));
    if (before === undefined && known === '0') members.set('!new', now + NEW_RECORD_MS);
    const own = before?.slice(1) ?? id;
    keep(`#${nodes}`);
    keep(`=${own}`);
    const refused: string[] = [];
    for (const other of others) {
      if (other === own) continue;
      if (ids().includes(other) || ids().length < Number(nodes)) keep(`+${other}`);
      else refused.push(other);
    }
    if (refused.length === 0) return [MEMBERS, 0, own];
    const sent = new Set([own, ...others]);
    const ends = [...members].filter(([name]) => isId(name) && !sent.has(nameOf(name)));
    return [NO_PLACE, Math.max(0, ...ends.map(([, end]) => end)), [own, ...refused].join(' ')];
  }

  private release(key: string, token: string, owner: string, tell: boolean, next: string, late: boolean): NodeReply {
    const mine = this.voted(key) === token;
    if (mine) this.votes.delete(key);
    if (next !== owner) this.unqueue(key, owner);
    let notified = 0;
    while (mine && tell && notified === 0) {
      const [head] = this.queued(key);
      if (head === undefined) break;
      this.unqueue(key, head);
      if (this.tell(head, 'granted', key) !== 0) notified = 1;
    }
    if (mine && next !== '-' && !late) this.append(key, next);
    return [mine ? VOTE : NO_VOTE, notified, 0];
  }

  private raise(key: string, ttlMs: number): void {
    const vote = this.votes.get(key)!;
    vote.endsAt = Math.max(vote.endsAt, this.surroundings.now() + ttlMs);
  }

  private tell(token: string, type: LockMessage['type'], key: string): number {
    const processId = TOKEN.exec(token)?.[1];
    return processId === undefined ? 0 : this.surroundings.publish(processId, { type, key, ownerToken: token });
  }

  private append(key: string, owner: string): void {
    const owners = [...this.queued(key)];
    if (!owners.includes(owner)) owners.push(owner);
    this.queues.set(key, { owners, endsAt: this.surroundings.now() + QUEUE_TTL_MS });
  }

  private unqueue(key: string, owner: string): void {
    const owners = this.queues.get(key)?.owners ?? [];
    const at = owners.indexOf(owner);
    if (at >= 0) owners.splice(at, 1);
    if (owners.length === 0) this.queues.delete(key);
  }
}

const isId = (member: string): boolean => /^[=+]/.test(member);
const nameOf = (member: string): string => member.slice(1);
