import { inspect } from 'node:util';

import { answerError, isDemotion, redacted, storeError } from './redis-errors.js';

describe('The conversion of Redis errors', () => {
  const inScript = (text: string): string => `ERR Error running script (call to f_0a1): @user_script:1: ${text}`;

  it.each([
    'LOADING Redis is loading',
    'READONLY You can not',
    'CLUSTERDOWN x',
    'TRYAGAIN x',
    'MOVED 1 a:1',
    'BUSY x',
    "MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk",
    'INPROG Failover already in progress',
    'ERR internal error',
    'ERR max number of clients reached',
    'NEWERROR of a later release',
    inScript("@user_script: 1: -READONLY You can't write against a read only replica."),
    inScript('MISCONF Errors writing to the AOF file'),
  ])('classifies the reply %p as passing', (text) => expect(answerError(text).passing).toBe(true));

  it.each([
    'NOPERM no',
    'NOAUTH no',
    'WRONGPASS no',
    'ERR invalid password',
    'ERR AUTH <password> called without any password configured for the default user.',
    'OOM no',
    'WRONGTYPE no',
    'CROSSSLOT no',
    "ERR unknown command 'evalsha'",
    'ERR DB index is out of range',
    'ERR operation not permitted',
    'ERR ACL failure in script: User locks has no permissions',
    inScript('WRONGTYPE Operation against a key holding the wrong kind of value'),
    inScript("@user_script: 1: -OOM command not allowed when used memory > 'maxmemory'."),
    inScript("@user_script: 1: The user executing the script can't run this command or subcommand"),
    inScript('@user_script: 1: Unknown Redis command called from script'),
  ])('classifies the reply %p as lasting', (text) => expect(answerError(text).passing).toBe(false));

  it('detects a demotion inside a script of each Redis version', () => {
    expect(isDemotion("READONLY You can't write")).toBe(true);
    expect(isDemotion(inScript("@user_script: 1: -READONLY You can't write"))).toBe(true);
    expect(isDemotion('ERR internal error')).toBe(false);
  });

  it('classifies a lost connection as passing', () => {
    expect(storeError(new Error('connect ECONNREFUSED 127.0.0.1:6379')).passing).toBe(true);
    expect(storeError(new AggregateError([new Error('connect ECONNREFUSED ::1:6379')])).message).toContain(
      'ECONNREFUSED',
    );
  });

  it.each([
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
  ])('classifies the TLS error %p as lasting', (code) =>
    expect(storeError(Object.assign(new Error('tls'), { code })).passing).toBe(false),
  );

  it.each(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND'])(
    'classifies the network error %p as passing',
    (code) => expect(storeError(Object.assign(new Error('net'), { code })).passing).toBe(true),
  );

  it('omits the command and the credentials of the client', () => {
    const reply = Object.assign(new Error('WRONGPASS redis://user:secret@host:6379'), {
      name: 'ReplyError',
      command: { name: 'hello', args: ['3', 'AUTH', 'default', 'secret'] },
    });
    const error = storeError(reply);
    expect(inspect(error, { depth: null })).not.toContain('secret');
    expect(error.message).toContain('WRONGPASS');
  });

  it.each(['a.', 'a', 'a://', '://', 'a://b:'])('redacts 600,000 characters of %p in linear time', (part) => {
    const text = part.repeat(600_000 / part.length);
    const startedAt = performance.now();
    redacted(text);
    // A quadratic expression takes half a minute or more.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  it('redacts the credentials of each URL', () => {
    expect(redacted('rediss://user:secret@a:1, redis+tls://:secret@b and redis://c.')).toBe(
      'rediss://***@a:1, redis+tls://***@b and redis://c',
    );
  });
});
