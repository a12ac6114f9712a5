/**
 * Measures that verify the arrival of messages (P12), and let subscriptions follow a primary (P28).
 */
const CHECK = 'store/redis/messages/inbox-check.ts';
const SPEC = 'store/redis/messages/inbox-check';

export const measuresOfOffers = [
  {
    promise: 'P28',
    what: 'a subscription that the primary does not count is opened again',
    file: CHECK,
    measure: 'if (sent.receivers === 0) this.renew();',
    without: '',
    test: ['planned-failover', 'RESP2, ioredis moves the subscriptions to the new primary'],
  },
  {
    promise: 'P28',
    what: '... at once when commands have a new connection',
    file: CHECK,
    measure: 'if (this.isScheduled && epoch === this.epoch) return;',
    without: 'if (this.isScheduled) return;',
    test: [SPEC, 'sends one message at once when commands use a new connection'],
  },
  {
    promise: 'P28',
    what: '... unless a node counts its own subscribers only',
    file: CHECK,
    measure: 'const counts = !this.connection.bySlot;',
    without: 'const counts = true;',
    test: [SPEC, 'ignores the count where a node counts its own subscribers only'],
  },
  {
    promise: 'P28',
    what: '... and with growing pauses while it does not help',
    file: CHECK,
    measure: 'this.pauseMs = Math.min(2 * this.pauseMs, LONGEST_PAUSE_MS);',
    without: '',
    test: [SPEC, 'subscribes again at most every 10 s where the count is always 0'],
  },
  {
    promise: 'P12',
    what: 'waiters poll when the server refuses the messages of scripts',
    file: CHECK,
    measure: "if (typeof receivers === 'string') this.refused(receivers);",
    without: "if (typeof receivers === 'string') return;",
    test: ['topologies/refused-publish', 'on one primary waiters poll from the first heartbeat on'],
  },
  {
    promise: 'P12',
    what: '... until a message arrives',
    file: CHECK,
    measure: 'this.trouble = undefined;\n    this.subscriber.resubscribed();',
    without: '',
    test: ['topologies/refused-publish', 'on one primary waiters poll from the first heartbeat on'],
  },
  {
    promise: 'P12',
    what: '... also when the connection is opened again',
    file: CHECK,
    measure: 'resubscribed(): void {\n    if (this.trouble === undefined) this',
    without: 'resubscribed(): void {\n    this',
    test: [SPEC, 'lets waiters poll from a refusal until a message arrives'],
  },
  {
    promise: 'P12',
    what: 'waiters poll when several messages did not arrive',
    file: CHECK,
    measure: 'if (this.missed >= MISSED_BEFORE_REPORT)',
    without: 'if (this.missed < 0)',
    test: ['waking', 'by polling when no message arrives for some heartbeats, RESP2'],
  },
  {
    promise: 'P12',
    what: 'a server that refuses messages to another slot gets messages to the slot of the lock',
    file: 'store/redis/layout.ts',
    measure: 'this.sharded = this.bySlot && (await this.refusesPublish());',
    without: '',
    test: ['topologies/refused-publish', 'waiters get messages on a channel in the slot of their lock'],
  },
  {
    promise: 'P12',
    what: 'messages are checked only while callers wait',
    file: CHECK,
    measure: 'if (!this.needed) return;',
    without: '',
    test: [SPEC, 'in every fifth heartbeat while callers wait'],
  },
  {
    promise: 'P12',
    what: 'messages are checked in each heartbeat after a lock was granted without its message',
    file: CHECK,
    measure: 'works && !this.suspected ?',
    without: 'works ?',
    test: [SPEC, 'after a lock was granted without its message'],
  },
  {
    promise: 'P26',
    what: 'a missing permission to publish is reported',
    file: 'engine/inbox-subscription.ts',
    measure: 'if (reason !== undefined) this.report(reason);',
    without: '',
    test: ['topologies/refused-publish', 'logs one warning, which names the right'],
  },
];
