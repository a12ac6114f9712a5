import type { LockMessage } from '../../../libs/distribute-lock/src/store/lock-store.js';
import { MemoryServer } from '../../../libs/distribute-lock/src/store/memory/memory-server.js';
import { processOf } from '../../../libs/distribute-lock/src/runtime/owner-token.js';
import { runScript, type RunScript, type ScriptName } from '../../support/run-script.js';
import type { NodeReply, StepWords } from '../../../libs/distribute-lock/src/store/quorum/node-connection.js';
import { RedisKeys } from '../../../libs/distribute-lock/src/store/redis/redis-keys.js';

/** The dependencies of a node. */
export interface NodeSurroundings {
  /** Milliseconds of the clock of the node. */
  now(): number;
  /** Returns the number of receivers of the message. */
  publish(processId: string, message: LockMessage): number;
}

/** The rules, or the rules with a planted change. */

const NAMES = new RedisKeys('');
const TYPES = { g: 'granted', c: 'contended' } as const;

/** One node of a quorum: a server in memory that runs the rules of `store/protocol`. */
export class NodeServer {
  private server: MemoryServer;

  constructor(
    private readonly surroundings: NodeSurroundings,
    private readonly rules: RunScript = runScript,
  ) {
    this.server = this.newServer();
  }

  run(key: string, words: StepWords): NodeReply {
    const [command, ...rest] = words.map(String);
    if (command === 'm') return this.execute('members', [NAMES.members], rest);
    return this.execute('quorum', [key, NAMES.queue(key), NAMES.fenceOf(key)], [command, ...rest]);
  }

  /** The reply to TIME. */
  clockMs(): number {
    return Math.floor(this.surroundings.now());
  }

  /** Loses all data, like a restart. */
  forget(): void {
    this.server = this.newServer();
  }

  /** The owner token that has the vote. */
  voted(key: string): string | undefined {
    const token = this.server.call('GET', key);
    return token === false ? undefined : token;
  }

  queued(key: string): readonly string[] {
    return this.server.call('ZRANGE', NAMES.queue(key), 0, -1);
  }

  private execute(script: ScriptName, keys: readonly string[], args: readonly string[]): NodeReply {
    const [code, x, y] = this.rules(this.server, script, keys, args) as readonly (number | string)[];
    return [code as number, x as number, y];
  }

  private newServer(): MemoryServer {
    return new MemoryServer({
      nowMs: () => this.surroundings.now(),
      publish: (_, message) => this.publish(message),
    });
  }

  private publish(message: string): number {
    const [type, ownerToken, key] = message.split(' ');
    return this.surroundings.publish(processOf(ownerToken)!, { type: TYPES[type as 'g' | 'c'], key, ownerToken });
  }
}
