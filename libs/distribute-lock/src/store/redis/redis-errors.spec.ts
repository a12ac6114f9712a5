import { inspect } from 'node:util';

import { answerError, redacted, storeError } from './redis-errors.js';

describe('The conversion of Redis errors', () => {
  it.each(['LOADING Redis is loading', 'READONLY You can not', 'CLUSTERDOWN x', 'TRYAGAIN x', 'MOVED 1 a:1', 'BUSY x'])(
    'classifies the reply %p as passing',
    (text) => expect(answerError(text).passing).toBe(true),
  );

  it.each(['NOPERM no', 'NOAUTH no', 'WRONGPASS no', 'OOM no', 'WRONGTYPE no', 'MISCONF no', 'ERR no'])(
    'classifies the reply %p as lasting',
    (text) => expect(answerError(text).passing).toBe(false),
  );

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

  it.each(['a.', 'a', 'a://', '://', 'a://b:'])('redacts 200,000 characters of %p within 100 ms', (part) => {
    const text = part.repeat(200_000 / part.length);
    const startedAt = performance.now();
    redacted(text);
    expect(performance.now() - startedAt).toBeLessThan(100);
  });

  it('redacts the credentials of each URL', () => {
    expect(redacted('rediss://user:secret@a:1, redis+tls://:secret@b and redis://c.')).toBe(
      'rediss://***@a:1, redis+tls://***@b and redis://c',
    );
  });
});
