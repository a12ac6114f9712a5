import { ServerError } from '../../../libs/distribute-lock/src/store/memory/memory-server.js';
import type { RunScript, ScriptName } from '../../support/run-script.js';
import type { DumpedKey } from './dump-keys.js';
import { msOf, type RecordedCall, type ShownReply, type Time } from './log-entries.js';
import type { RecordedServer } from './recorded-server.js';

/** What a call did: its reply, its messages, and its keys at the end if they were recorded. */
interface Outcome {
  readonly reply: ShownReply;
  readonly messages: readonly string[];
  readonly keys?: readonly string[];
}

export type CallResult =
  | { readonly type: 'same'; readonly server: RecordedServer }
  /** The clock moved past the end of a key during the call, so several replies are correct. */
  | { readonly type: 'unclear' }
  | { readonly type: 'different'; readonly expected: Outcome; readonly actual: Outcome };

/** Runs a call by the rules on a copy of the server, and compares what both did. */
export function replayCall(runScript: RunScript, before: RecordedServer, call: RecordedCall): CallResult {
  const expected = outcomeOf(call);
  let first: Outcome | undefined;
  const endsMeanwhile = hasEnd(before, call);
  for (const { time, nowMs } of clocks(call)) {
    const server = before.clone();
    const actual = run(runScript, server, call, time, nowMs);
    if (isSame(expected, actual)) {
      // Only the keys at the end would show whether this clock is the right one.
      return endsMeanwhile && call.after === undefined ? { type: 'unclear' } : { type: 'same', server };
    }
    first ??= actual;
  }
  const { began, ended } = call;
  // A clock that moves by more than a millisecond may have had other values in between.
  if (endsMeanwhile || msOf(ended) - msOf(began) > 1) return { type: 'unclear' };
  return { type: 'different', expected, actual: first! };
}

/**
 * The clocks that the script may have read. Redis 7.0 does not stop the clock in a script, so each command may be the first
 * one in the later millisecond.
 */
function* clocks({ began, times, ended }: RecordedCall): Generator<{ time: Time; nowMs: () => number }> {
  const [beganMs, endedMs] = [msOf(began), msOf(ended)];
  const distinct = new Map((times.length === 0 ? [began] : times).map((time) => [time.join(), time]));
  for (const time of distinct.values()) {
    let reads = 0;
    yield { time, nowMs: () => ((reads += 1), beganMs) };
    if (beganMs === endedMs) continue;
    const most = reads;
    for (let earlier = most - 1; earlier >= 0; earlier -= 1) {
      let count = 0;
      yield { time, nowMs: () => ((count += 1) > earlier ? endedMs : beganMs) };
    }
  }
}

/** Whether a key of the call ends while the call runs. Redis compares ends with the time at which the script began. */
function hasEnd(before: RecordedServer, { keys, atMs, began, ended }: RecordedCall): boolean {
  const fromMs = Math.min(atMs, msOf(began));
  if (fromMs === msOf(ended)) return false;
  return before
    .dump(fromMs)
    .some(([key, , endsAt]) => endsAt !== undefined && endsAt <= msOf(ended) && keys.includes(key));
}

function run(
  runScript: RunScript,
  server: RecordedServer,
  call: RecordedCall,
  time: Time,
  nowMs: () => number,
): Outcome {
  const { script, keys, args, ended, after } = call;
  const reply = shownReply(() =>
    server.run(call, time, nowMs, (redis) => runScript(redis, script as ScriptName, keys, args)),
  );
  const found = after && server.dump(msOf(ended)).filter(([key]) => keys.includes(key));
  return {
    reply,
    messages: server.sent,
    keys: found?.map(([key, content, endsAt]) => shownKey([key, content, String(endsAt ?? -1)])).sort(),
  };
}

function outcomeOf({ reply, messages, after, ended }: RecordedCall): Outcome {
  return {
    reply: typeof reply === 'string' ? withWhole(reply) : reply.map(withWhole),
    messages: messages.map(([, channel, message]) => `${channel} ${message}`),
    keys: after
      ?.filter(([, , endsAt]) => endsAt === '-1' || Number(endsAt) >= msOf(ended))
      .map(shownKey)
      .sort(),
  };
}

function shownReply(reply: () => number | readonly (number | string)[]): ShownReply {
  const shown = (value: number | string): string => withWhole(`${typeof value} ${value}`);
  try {
    const value = reply();
    return typeof value === 'number' ? shown(value) : value.map(shown);
  } catch (error) {
    if (error instanceof ServerError || (error as { err?: string }).err !== undefined)
      return `error ${(error as { err: string }).err}`;
    if (typeof error === 'string') return `error ${error}`;
    throw error;
  }
}

/** Redis cuts off fractions. */
const withWhole = (shown: string): string =>
  shown.startsWith('number ') ? `number ${Math.trunc(Number(shown.slice(7)))}` : shown;

/** A key as text that is equal for equal keys. */
export function shownKey([key, content, endsAt]: DumpedKey): string {
  const members =
    typeof content === 'string' ? content : content.map((word, i) => (i % 2 === 0 ? word : Number(word))).join(' ');
  return `${key} = ${members} (ends at ${endsAt})`;
}

const isSame = (one: Outcome, other: Outcome): boolean => JSON.stringify(one) === JSON.stringify(other);
