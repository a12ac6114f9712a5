import { randomInt } from 'node:crypto';

import { processOf } from '../../../runtime/owner-token.js';
import { Alarm, Deadline } from '../../../runtime/timers.js';
import type { LockInquiry, LockStoreListener } from '../../lock-store.js';
import { COMMAND_LIMIT_MS } from '../link.js';
import type { RedisConnection } from '../redis-connection.js';
import { inTime } from '../redis-errors.js';
import type { RedisKeys } from '../redis-keys.js';

/** A record outlives a crashed process, so that an operator can find the host of a holder that no longer answers. */
const RECORD_MS = 600_000;
/** Processes that live for a shorter time write no record. */
const FIRST_MS = 1_000;
const AGAIN_MS = 200_000;
/** An answer is kept for the process that asked. */
const ANSWER_MS = 5_000;
const MOST_WAIT_MS = 500;
const LOOK_MS = 20;
/** Answers that may be on their way at the same time, so that a flood of questions costs little. */
const MOST_ANSWERS = 10;

const PATTERN = /^([qe])(\d+) (\S+) ([\s\S]*)$/;

/** The record of each process, and questions to it: both serve operators only, so no lock decision depends on them. */
export class ProcessRecords {
  private answering = 0;

  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
  ) {}

  /** Keeps the record of the process from now on. */
  keep(processId: string, listener: LockStoreListener): void {
    const text = listener.describe?.();
    if (text === undefined) return;
    const { timers } = this.connection;
    const alarm = new Alarm(() => {
      void this.write(this.keys.process(processId), text, RECORD_MS);
      timers.add(alarm, AGAIN_MS);
    });
    timers.add(alarm, FIRST_MS);
  }

  /** What the process of the owner token says, or else its record. Never rejects. */
  async ask({ key, ownerToken, last }: LockInquiry): Promise<string | undefined> {
    const { client, clock, clustered } = this.connection;
    const processId = processOf(ownerToken)!;
    const record = this.keys.process(processId);
    // The answer is a key and no message, because every client that may publish could forge a message.
    const id = randomInt(2 ** 47);
    const inquiry = `${last === true ? 'e' : 'q'}${id} ${ownerToken} ${this.keys.lock(key)}`;
    try {
      const receivers = await inTime(client.publish(this.keys.channel(processId), inquiry), COMMAND_LIMIT_MS, clock);
      const until = clock.now() + MOST_WAIT_MS;
      // A Cluster counts only the receivers of one node.
      while ((receivers > 0 || clustered) && clock.now() < until) {
        const answer = await this.inTime(record, client.get(`${record}:${id}`));
        if (answer !== null) return answer;
        await new Promise<void>((resolve) => this.connection.timers.add(new Deadline(resolve), LOOK_MS));
      }
      return (await this.inTime(record, client.get(record))) ?? undefined;
    } catch {
      return undefined;
    }
  }

  /** Answers an inquiry, if the text of the message is one. Returns whether it is. */
  answer(text: string, processId: string, listener: LockStoreListener): boolean {
    const [, letter, id, ownerToken = '', lockKey = ''] = PATTERN.exec(text) ?? [];
    if (!lockKey.startsWith(this.keys.prefix)) return false;
    const inquiry = { key: lockKey.slice(this.keys.prefix.length), ownerToken, last: letter === 'e' };
    const answer = this.answering < MOST_ANSWERS ? listener.describe?.(inquiry) : undefined;
    if (answer === undefined) return true;
    this.answering += 1;
    void this.write(`${this.keys.process(processId)}:${id}`, answer, ANSWER_MS).then(() => (this.answering -= 1));
    return true;
  }

  /** Without the permission to write it, an operator sees less. */
  private async write(name: string, text: string, ms: number): Promise<void> {
    try {
      await this.connection.whenReady(COMMAND_LIMIT_MS, name);
      await this.inTime(name, this.connection.client.set(name, text, 'PX', ms));
    } catch {
      // The next record is written later.
    }
  }

  /** Waits for the answer, which also shows that the connection works. */
  private inTime<T>(name: string, answer: Promise<T>): Promise<T> {
    void this.connection.linkOf(name)?.track(answer);
    return inTime(answer, COMMAND_LIMIT_MS, this.connection.clock);
  }
}
