import { placeOf } from './connection-url.js';

describe('placeOf', () => {
  it.each([
    ['redis://localhost:6379', 'redis://localhost:6379'],
    ['rediss://user:p%40ss,word@redis.internal:6380/2', 'rediss://user:p%40ss,word@redis.internal:6380/2'],
    ['redis://a:1,redis://b:2,rediss://c:3', ['redis://a:1', 'redis://b:2', 'rediss://c:3']],
    [
      'redis+cluster://locks:p%40ss%2C@a:7000,b',
      {
        cluster: [
          { host: 'a', port: 7000 },
          { host: 'b', port: 6379 },
        ],
        options: { redisOptions: { username: 'locks', password: 'p@ss,' } },
      },
    ],
    [
      'rediss+cluster://:secret@[::1]:7000',
      { cluster: [{ host: '::1', port: 7000 }], options: { redisOptions: { password: 'secret', tls: {} } } },
    ],
    [
      'redis+sentinel://a,b:26380/main/3',
      {
        sentinels: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 26380 },
        ],
        name: 'main',
        db: 3,
      },
    ],
    [
      'rediss+sentinel://user@a/main',
      {
        sentinels: [{ host: 'a', port: 26379 }],
        name: 'main',
        username: 'user',
        tls: {},
        enableTLSForSentinelMode: true,
        sentinelTLS: {},
      },
    ],
  ])('reads %s', (url, place) => {
    expect(placeOf(url)).toEqual(place);
  });

  it.each([
    'localhost:6379',
    'redis://',
    'redis://:a-secret%@localhost',
    'redis+cluster://:a-secret%zz@a',
    'redis+sentinel://a/a-secret%',
    'redis://:a-secret@/0',
    'redis:a-secret',
    'http://:a-secret@localhost',
    'redis://a,http://:a-secret@b',
    'redis://a,b',
    'redis+cluster://:a-secret@',
    'redis+cluster://:a-secret@a:70000',
    'redis+cluster://:a-secret@a:b',
    'redis+cluster://a/0?password=a-secret',
    'redis+sentinel://:a-secret@a',
    'redis+sentinel://:a-secret@a/',
    'redis+other://:a-secret@a',
  ])('refuses %s, and does not repeat a password', (url) => {
    let message = '';
    try {
      placeOf(url);
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(/^UsageError: The Redis URL .*\.$/);
    expect(message).not.toContain('secret');
  });
});
