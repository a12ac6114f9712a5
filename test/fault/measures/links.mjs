/**
 * Measures that detect and replace half-open connections (P18). The tests are in
 * test/sockets.
 */
const LINK = 'store/redis/link.ts';

export const measuresOfLinks = [
  {
    promise: 'P18',
    what: 'a connection that owes a reply and receives no byte is closed',
    file: LINK,
    measure: 'if (silentMs >= SILENCE_LIMIT_MS) this.close();',
    without: 'if (silentMs < 0) this.close();',
    test: ['sockets/link-commands', 'is closed 2.5 s after the first unanswered command'],
  },
  {
    promise: 'P18',
    what: '... and idle time does not count',
    file: LINK,
    measure: 'return now - Math.max(this.lastByteAt, this.unansweredSince);',
    without: 'return now - this.lastByteAt;',
    test: ['sockets/link-commands', 'however long it was idle'],
  },
  {
    promise: 'P18',
    what: '... nor does time in which the process did not run',
    file: LINK,
    measure: 'if (this.clock.now() - this.dueAt < LATE_TICK_MS) return this.examine(false);',
    without: 'if (this.dueAt > 0) return this.examine(false);',
    test: ['sockets/link-commands', 'when the event loop was blocked for 3 s'],
  },
  {
    promise: 'P18',
    what: 'a pause of the process probes its connections at once',
    file: LINK,
    measure: 'if (lateMs >= PULSE_MS) this',
    without: 'if (lateMs < 0) this',
    test: ['sockets/after-pause', 'gets a lock at the first call'],
  },
  {
    promise: 'P18',
    what: 'a handshake has the same limit',
    file: LINK,
    measure: 'if (this.unanswered > 0 || this.handshaking) this',
    without: 'if (this.unanswered > 0) this',
    test: ['sockets/link-commands', 'whose handshake gets no reply'],
  },
  {
    promise: 'P18',
    what: 'a link on which a reply is overdue accepts no writes',
    file: LINK,
    measure: 'const usable = this.proven && !this.isOverdue && !this.closing;',
    without: 'const usable = this.proven && !this.closing;',
    test: ['sockets/link-commands', 'accepts no writes while a reply is overdue'],
  },
  {
    promise: 'P18',
    what: '... until a byte arrives',
    file: LINK,
    measure: 'this.unanswered -= 1;\n    this.lastByteAt = now;\n    if (this.isOverdue) this.setOverdue(false);',
    without: 'this.unanswered -= 1;\n    this.lastByteAt = now;',
    test: ['sockets/link-commands', 'as soon as the overdue reply comes'],
  },
  {
    promise: 'P18',
    what: 'a socket is closed once, even when several callers ask for it',
    file: LINK,
    measure: 'if (this.closing || stream === undefined || stream === null || stream.destroyed) return;',
    without: 'if (stream === undefined || stream === null) return;',
    also: { file: LINK, measure: 'stream.destroy();', without: 'this.client.disconnect(true);' },
    test: ['sockets/link-commands', 'is replaced once when 20 callers'],
  },
  {
    promise: 'P18',
    what: 'a subscription is probed while waiters depend on it',
    file: LINK,
    measure: 'if (leftMs <= 0) this.probe();',
    without: '',
    // One of the two is enough: check messages that did not arrive probe and renew the subscription, too.
    also: {
      file: 'store/redis/inbox-check.ts',
      measure: 'if (last?.receivers === undefined || last.arrived) return;',
      without: 'if (this.last === undefined) return;',
    },
    test: ['sockets/link-messages', 'a subscription of the library is closed and reopened when it is half-open'],
  },
  {
    promise: 'P18',
    what: 'waiters poll while their subscription does not respond',
    file: 'engine/messages.ts',
    measure:
      "this.context.inbox.changed(false, reason);\n    for (const attempt of this.attempts()) this.acquiring.wakeUps.wake({ reason: 'lost connection', attempt });",
    without: '',
    test: [
      'engine/without-messages',
      'A process that receives no messages polls as soon as its subscription is lost: exclusive',
    ],
  },
  {
    promise: 'P18',
    what: 'a grant without its message makes the subscription suspect',
    file: 'engine/acquiring.ts',
    measure: 'if (attempt.awaitsMessage && !attempt.over) this.context.store.messageMissed?.();',
    without: '',
    test: ['sockets/link-messages', 'a subscription of the library is probed when a lock is granted without'],
  },
  {
    promise: 'P18',
    what: 'a client of the application is a template, and its credentials are read for each connection',
    file: 'store/redis/redis-client.ts',
    measure: 'return follow(own, sourceOf(given) ?? (() => given.options as LockCredentials));',
    without: 'return own;',
    test: ['sockets/link-commands', 'is a template whose password may change'],
  },
  {
    promise: 'P18',
    what: 'the Sentinel watch is probed, also while no caller waits',
    file: 'store/redis/sentinel-watch.ts',
    measure: 'link.watchMessages(false);',
    without: '',
    test: ['sockets/sentinel-watch', 'are replaced: a lease follows the primary'],
  },
  {
    promise: 'P18',
    what: 'a subscription in a Cluster moves to another node when its connection is lost',
    file: 'store/redis/cluster-subscription.ts',
    measure: "redis.once('end', () => this.lost(link));",
    without: '',
    test: ['sockets/cluster', 'inbox: half-open is detected'],
  },
  {
    promise: 'P21',
    what: 'commands never use the client of the application, which may be within a MULTI',
    file: 'store/redis/connection-to.ts',
    measure: 'client: another(source, credentials)',
    without: 'client: source',
    test: ['sockets/odd-replies', 'does not keep the library from locking'],
  },
];
