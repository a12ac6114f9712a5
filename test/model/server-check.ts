/** Executes each command of a search also on the server in memory, and throws if the effect differs. */
import { deepStrictEqual } from 'node:assert/strict';

import { MemoryServer } from '../../libs/distribute-lock/src/store/memory/memory-server.js';
import { Rules, type Reply } from './rules.js';
import { copyOf, type Command, type State } from './state.js';

export class CheckedRules extends Rules {
  executed = 0;

  override execute(state: State, command: Command): Reply {
    const before = copyOf(state);
    const reply = super.execute(state, command);
    const sent = this.server.messages;
    const messages: string[] = [];
    let now = before.now - 100;
    const memory = new MemoryServer({
      nowMs: () => now,
      publish: (channel, message) => {
        messages.push(message);
        const process = this.names.processes.findIndex((id) => channel.endsWith(id.slice(0, 11)));
        return (before.subscribed >> process) & 1;
      },
    });
    this.restore(memory, before);
    now = before.now;
    const otherReply = this.executeOn(memory, command, now);
    deepStrictEqual([otherReply, messages, memory.dump()], [reply, sent, this.dumpOf(state)]);
    this.executed += 1;
    return reply;
  }

  private restore(memory: MemoryServer, { entries, now }: State): void {
    entries.forEach((entry, i) => {
      if (entry === undefined || entry.endsAt < now) return;
      const key = this.names.keys[i];
      if (entry.value !== undefined) memory.call('SET', key, entry.value);
      entry.members.forEach((member, j) => memory.call('ZADD', key, entry.scores[j], member));
      if (entry.endsAt !== Infinity) memory.call('PEXPIREAT', key, entry.endsAt);
    });
  }

  private dumpOf({ entries, now }: State): unknown[] {
    const dumped: [string, unknown, number | undefined][] = [];
    entries.forEach((entry, i) => {
      if (entry === undefined || entry.endsAt < now) return;
      const content = entry.value ?? entry.members.flatMap((member, j) => [member, String(entry.scores[j])]);
      dumped.push([this.names.keys[i], content, entry.endsAt === Infinity ? undefined : entry.endsAt]);
    });
    return dumped.sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
