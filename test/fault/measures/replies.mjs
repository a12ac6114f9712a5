/** Measures that refuse replies of unknown shape (P21). The tests are in test/sockets. */
export const measuresOfReplies = [
  {
    promise: 'P21',
    what: 'a reply has three words for each command',
    file: 'store/redis/command-batch.ts',
    measure:
      'if (!Array.isArray(reply) || reply.length !== REPLY_WORDS * commands.length) return this.unknown(call, reply);',
    without: 'if (!Array.isArray(reply)) return this.unknown(call, reply);',
    test: ['sockets/odd-replies-by-command', 'to an acquire that does not wait'],
  },
  {
    promise: 'P21',
    what: 'a renewal is confirmed only by the reply to a renewal',
    file: 'store/rule-commands.ts',
    measure: 'return code === RENEWED && isCount(x) ? x : undefined;',
    without: 'return x as number;',
    test: ['sockets/odd-replies-by-command', 'to a renewal fails'],
  },
  {
    promise: 'P21',
    what: 'a grant needs fencing tokens that are safe integers',
    file: 'store/rule-commands.ts',
    measure: '!isFencingToken(x, request.block) || !isWaiting(request, y)',
    without: '!isWaiting(request, y)',
    test: ['sockets/odd-replies-by-command', 'to an acquire that waits'],
  },
  {
    promise: 'P21',
    what: 'only the script of exclusive locks replies with a single number',
    file: 'store/redis/command-batch.ts',
    measure: 'if (this.settings.delegate === undefined) return this.unknown(call, first);',
    without: '',
    test: ['sockets/odd-replies-by-command', 'a single number: a release of permits alone'],
  },
  {
    promise: 'P21',
    what: 'a node of a quorum votes only by a reply to the step',
    file: 'store/quorum/node-connection.ts',
    measure: 'checked(await this.send(link, lock, [...words, deadlineMs]), words[0]);',
    without: '(await this.send(link, lock, [...words, deadlineMs])) as NodeReply;',
    test: ['sockets/odd-replies-by-command', 'of a quorum, to an acquire that waits'],
  },
  {
    promise: 'P21',
    what: 'the first connection proves that the replies of scripts have the expected shape',
    file: 'store/redis/script-runner.ts',
    measure: 'if (!Array.isArray(reply) || reply.length > 0) throw unknownReply(reply);',
    without: '',
    test: ['sockets/odd-replies-by-command', 'fails the connect'],
  },
];
