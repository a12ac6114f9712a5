import { clusterOfNodeRedis, isNodeRedisUrl, settingsOfNodeRedis, withUrl } from './node-redis.js';

describe('settingsOfNodeRedis', () => {
  it.each([
    [{ url: 'redis://a' }, { host: 'a', port: 6379, db: 0 }],
    [
      { url: 'rediss://us%40er:p%3Ass@a:7/3' },
      { host: 'a', port: 7, db: 3, tls: {}, username: 'us@er', password: 'p:ss' },
    ],
    [{ url: 'redis://[::1]:7' }, { host: '::1', port: 7, db: 0 }],
    // The URL has precedence, and TLS is never dropped.
    [
      {
        url: 'rediss://u:p@a:7/3',
        socket: { host: 'b', port: 8, tls: false, servername: 'c' },
        database: 9,
        username: 'v',
        password: 'q',
      },
      { host: 'a', port: 7, db: 3, tls: { servername: 'c' }, username: 'u', password: 'p' },
    ],
    [
      { url: 'redis://a', socket: { tls: true } },
      { host: 'a', port: 6379, db: 0, tls: {} },
    ],
    [{}, { host: 'localhost', port: 6379, db: 0 }],
    [
      { socket: { path: '/run/redis.sock' }, keyPrefix: 'app:' },
      { path: '/run/redis.sock', db: 0, keyPrefix: 'app:' },
    ],
    [
      {
        socket: {
          host: 'a',
          port: 7,
          family: 6,
          tls: true,
          ca: 'pem',
          servername: 'b',
          keepAlive: true,
          noDelay: true,
        },
      },
      { host: 'a', port: 7, family: 6, db: 0, tls: { ca: 'pem', servername: 'b' } },
    ],
  ])('reads %j', (options, settings) => {
    const { username, password, ...read } = settingsOfNodeRedis(withUrl(options));
    const { username: user, password: secret, ...expected } = { username: undefined, password: undefined, ...settings };
    expect(read).toEqual(expected);
    expect([username, password]).toEqual([user, secret]);
  });

  it('reads of a client what it has read from its URL', () => {
    const client = { url: 'unix:///run/redis.sock', socket: { path: '/run/redis.sock' }, database: 3 };
    expect(settingsOfNodeRedis(client)).toMatchObject({ path: '/run/redis.sock', db: 3 });
  });

  it('reads user and password when they are needed', () => {
    const options = { url: 'redis://u:old@a', socket: { host: 'a' }, username: 'u', password: 'old' };
    const settings = settingsOfNodeRedis(options);
    options.password = 'new';
    expect({ ...settings }).toMatchObject({ username: 'u', password: 'new' });
  });
});

describe('isNodeRedisUrl', () => {
  it.each(['redis://a', 'rediss://u:p@a:7/3', 'redis://[::1]/'])('accepts %s', (url) => {
    expect(isNodeRedisUrl(url)).toBe(true);
  });

  it.each(['http://a', 'redis://', 'redis://:50%zz@a', 'redis://a/x', 'unix:///run/redis.sock'])(
    'rejects %s',
    (url) => {
      expect(isNodeRedisUrl(url)).toBe(false);
    },
  );
});

describe('clusterOfNodeRedis', () => {
  it('reads the nodes, and what they have in common', () => {
    const nodeAddressMap = { 'a:1': { host: 'b', port: 2 } };
    const read = clusterOfNodeRedis({
      rootNodes: [{ url: 'rediss://a:1' }, { socket: { host: 'c', port: 3 } }],
      defaults: { password: 'p', socket: { connectTimeout: 500 } },
      nodeAddressMap,
      keyPrefix: 'app:',
    });
    expect(read).toMatchObject({
      cluster: [
        { host: 'a', port: 1 },
        { host: 'c', port: 3 },
      ],
      options: {
        redisOptions: { tls: {}, connectTimeout: 500, password: 'p' },
        natMap: nodeAddressMap,
        keyPrefix: 'app:',
      },
    });
  });

  it('reads user and password of the first node without defaults', () => {
    const { options } = clusterOfNodeRedis({ rootNodes: [{ url: 'redis://u:p@a:1' }] });
    expect(options?.redisOptions).toMatchObject({ username: 'u', password: 'p' });
  });
});
