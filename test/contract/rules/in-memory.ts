import { MemoryServer, ServerError } from '../../../libs/distribute-lock/src/store/memory/memory-server.js';
import { runScript } from '../../support/run-script.js';
import type { Settings } from '../../../libs/distribute-lock/src/store/protocol/settings.js';
import type { Lines, Sequence } from './in-redis.js';
import { keysOfSteps, type Step } from './steps.js';

const INBOX = /^nestjs-lock:1:....(.{11})/;
/** A channel in the slot of a lock is longer. */
const INBOX_LENGTH = 29;
/** As in `in-redis.lua`. */
const WORDS = /ERR [A-Za-z][A-Za-z ]*|Cannot [A-Za-z '_()]*/g;
const STAMPS = 65_536;

/** Runs a sequence in memory: the same steps, clock and receivers as `in-redis.lua`, and lines of the same form. */
export function runInMemory({ startMs, micros, steps }: Sequence, settings: Settings, rules = runScript): Lines {
  const side = new MemorySide(startMs, micros, settings, rules);
  return steps.map((step) => `${side.run(step)}\n${side.dump()}`);
}

class MemorySide {
  private receivers: Readonly<Record<string, number>> = {};
  private messages: string[] = [];
  private readonly server: MemoryServer;

  constructor(
    private nowMs: number,
    private readonly micros: number,
    private readonly settings: Settings,
    private readonly rules: typeof runScript,
  ) {
    this.server = new MemoryServer({
      // In the middle of the microsecond, because a number of this size has no exact microseconds.
      nowMs: () => this.nowMs + (this.micros + 0.5) / 1_000,
      publish: (channel, message) => this.publish(channel, message),
    });
  }

  run(step: Step): string {
    if ('receivers' in step) this.receivers = step.receivers;
    else if ('advanceMs' in step) this.nowMs += step.advanceMs;
    else if ('foreign' in step) this.server.pcall(...(step.foreign as ['GET', string]));
    else return this.script(step);
    return '';
  }

  dump(): string {
    const found = new Map(this.server.dump().map(([key, content, endsAt]) => [key, { content, endsAt }]));
    const lines = keysOfSteps().flatMap((key) => {
      const entry = found.get(key);
      if (entry === undefined) return [];
      const { content, endsAt } = entry;
      const shown = typeof content === 'string' ? content : scored(content);
      return [`${key} ${shown} for ${endsAt === undefined ? -1 : endsAt - this.nowMs}`];
    });
    return lines.join('\n');
  }

  private script(step: Extract<Step, { script: unknown }>): string {
    this.messages = [];
    const reply = this.replyOf(step);
    return `${reply.replaceAll(WORDS, 'a rule failed ')} | ${this.messages.join(' | ')}`;
  }

  private replyOf({ script, keys, args }: Extract<Step, { script: unknown }>): string {
    try {
      const reply = this.rules(this.server, script, keys, args, this.settings);
      return typeof reply === 'number' ? String(reply) : reply.join(' ');
    } catch (error) {
      // A rule throws an object of the same form.
      if (error instanceof ServerError || (error as { err?: string }).err !== undefined) {
        return `error ${(error as { err: string }).err}`;
      }
      throw error;
    }
  }

  private publish(channel: string, message: string): number {
    this.messages.push(`${channel.length === INBOX_LENGTH ? 'PUBLISH' : 'SPUBLISH'} ${channel} ${message}`);
    const count = this.receivers[INBOX.exec(channel)?.[1] ?? ''] ?? 0;
    if (count < 0) throw new ServerError('NOPERM');
    return count;
  }
}

function scored(content: readonly string[]): string {
  const parts: string[] = [];
  for (let i = 0; i < content.length; i += 2) {
    const score = Number(content[i + 1]);
    const whole = Math.floor(score);
    parts.push(`${content[i]}=${whole}+${Math.round((score - whole) * STAMPS)}`);
  }
  return parts.join(',');
}
