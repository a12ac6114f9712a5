import { ManualClock, settled } from '../../../../../../test/support/manual-clock.js';
import { Timers } from '../../../runtime/timers.js';
import { InboxCheck } from './inbox-check.js';
import type { RedisConnection } from '../redis-connection.js';
import type { Subscriber, Subscription } from './subscription.js';

const CHANNEL = 'nestjs-lock:1:lock:aaaaaaaaaaa';
const LOCK = 'lock:a';
const HEARTBEAT_MS = 1_300;

/** A server that receives the messages of the check. */
function start({ bySlot = false } = {}) {
  const clock = new ManualClock();
  const log: string[] = [];
  const state = { receivers: 1 as number | string, delivers: true, sent: [] as string[] };
  const subscriber: Subscriber = {
    message: (text) => log.push(`message ${text}`),
    unsubscribed: (reason) => log.push(`unsubscribed ${reason?.message ?? ''}`),
    resubscribed: () => log.push('resubscribed'),
  };
  const subscription: Subscription = {
    live: true,
    open: async () => undefined,
    messagesExpected: () => undefined,
    messageMissed: () => log.push('probed'),
    renew: () => log.push('renewed'),
    close: () => undefined,
  };
  const client = {
    options: { host: '127.0.0.1', port: 7_000 },
    async eval(_lua: string, _keys: number, lock: string, text: string, ...channels: string[]) {
      state.sent.push(`${lock} ${channels.join(' ')}`);
      if (state.delivers) check.message(text);
      return state.receivers;
    },
  };
  const connection = {
    clock,
    timers: new Timers(clock),
    client,
    bySlot,
    epoch: 1,
    sharded: false,
    clustered: false,
    accepts: () => true,
    linkOf: () => undefined,
  };
  const inbox = {
    channel: CHANNEL,
    shardChannel: (lock: string) => `${CHANNEL}:${lock}`,
    rule: '&nestjs-lock:1:lock:*',
  };
  const check: InboxCheck = new InboxCheck(
    connection as unknown as RedisConnection,
    inbox,
    subscriber,
    () => subscription,
  );
  /** Time passes while `callers` wait. */
  async function pass(ms: number, callers = 1): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      for (let i = 0; i < callers; i += 1) check.waitFor(LOCK);
      await clock.pass(100);
      clock.turn();
      await settled();
    }
  }
  return { check, clock, connection, log, state, pass };
}

describe('InboxCheck', () => {
  it('sends a message at once and in every fifth heartbeat while callers wait and messages arrive, and none otherwise', async () => {
    const { clock, log, state, pass } = start();
    await clock.pass(60_000);
    expect(state.sent).toEqual([]);
    await pass(16 * HEARTBEAT_MS, 100);
    expect(state.sent).toHaveLength(4);
    expect(new Set(state.sent)).toEqual(new Set([`${LOCK} ${CHANNEL}`]));
    await pass(60_000, 0);
    expect(state.sent.length).toBeLessThanOrEqual(5);
    expect(log).toEqual([]);
  });

  it('checks in each heartbeat after a lock was granted without its message', async () => {
    const { check, log, state, pass } = start();
    await pass(4 * HEARTBEAT_MS);
    expect(state.sent).toHaveLength(2);
    state.delivers = false;
    check.messageMissed();
    await pass(3 * HEARTBEAT_MS);
    expect(log).toEqual(['probed', 'probed', 'renewed']);
  });

  it('sends one message at once when commands use a new connection', async () => {
    const { connection, state, pass } = start();
    await pass(300);
    connection.epoch += 1;
    await pass(300);
    expect(state.sent).toHaveLength(2);
  });

  it('subscribes again as soon as the server counts no receiver, although the message arrives', async () => {
    const { log, state, pass } = start();
    state.receivers = 0;
    await pass(200);
    expect(log).toEqual(['renewed']);
    state.receivers = 1;
    await pass(20_000);
    expect(log).toEqual(['renewed']);
  });

  it('subscribes again at most every 10 s where the count is always 0', async () => {
    const { log, state, pass } = start();
    state.receivers = 0;
    await pass(120_000);
    expect(new Set(log)).toEqual(new Set(['renewed']));
    expect(log.length).toBeGreaterThan(8);
    expect(log.length).toBeLessThan(17);
  });

  it('ignores the count where a node counts its own subscribers only', async () => {
    const { log, state, pass } = start({ bySlot: true });
    state.receivers = 0;
    await pass(20_000);
    expect(log).toEqual([]);
  });

  it('subscribes again after two lost messages, and lets waiters poll after four until one arrives', async () => {
    const { log, state, pass } = start();
    state.delivers = false;
    await pass(HEARTBEAT_MS * 3 - 200);
    expect(log).toEqual(['probed', 'renewed']);
    await pass(HEARTBEAT_MS * 3);
    expect(log.filter((line) => line.startsWith('unsubscribed'))).toEqual([
      'unsubscribed no message arrives, although the server accepts SUBSCRIBE and PUBLISH.',
    ]);
    state.delivers = true;
    await pass(HEARTBEAT_MS);
    expect(log.at(-1)).toBe('resubscribed');
  });

  it('lets waiters poll from a refusal until a message arrives, whatever the connection reports', async () => {
    const { check, log, state, pass } = start();
    Object.assign(state, {
      receivers: "NOPERM this user has no permissions to run the 'publish' command",
      delivers: false,
    });
    await pass(200);
    expect(log).toEqual([
      expect.stringMatching(/^unsubscribed Redis 127.0.0.1:7000 refuses PUBLISH.*NOPERM.*"\+publish"/),
    ]);
    check.unsubscribed();
    check.resubscribed();
    await pass(10_000);
    expect(log).toHaveLength(1);
    Object.assign(state, { receivers: 1, delivers: true });
    await pass(2 * HEARTBEAT_MS);
    expect(log).toEqual([expect.any(String), 'resubscribed']);
  });

  it('passes on every other message, also one that resembles its own', async () => {
    const { check, log } = start();
    check.message('g token lock:a');
    check.message('i 00000000-0000-4000-8000-000000000000 1');
    expect(log).toEqual(['message g token lock:a', 'message i 00000000-0000-4000-8000-000000000000 1']);
  });
});
