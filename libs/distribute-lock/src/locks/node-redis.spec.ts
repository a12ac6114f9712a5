import { clusterOfNodeRedis, settingsOfNodeRedis } from './node-redis.js';

describe('settingsOfNodeRedis', () => {
  it.each([
    [{ url: 'redis://a' }, { host: 'a', port: 6379, db: 0 }],
    [
      { url: 'rediss://us%40er:p%3Ass@a:7/3' },
      { host: 'a', port: 7, db: 3, tls: {}, username: 'us@er', password: 'p:ss' },
    ],
    // A client has its URL, and what it read from it.
    [
      { url: 'rediss://a:7/3', socket: { host: 'a', port: 7, tls: true, connectTimeout: 500 }, database: 3 },
      { host: 'a', port: 7, db: 3, tls: {}, connectTimeout: 500 },
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
    const { username, password, ...read } = settingsOfNodeRedis(options);
    const { username: user, password: secret, ...expected } = { username: undefined, password: undefined, ...settings };
    expect(read).toEqual(expected);
    expect([username, password]).toEqual([user, secret]);
  });

  it('reads user and password when they are needed', () => {
    const options = { url: 'redis://a', username: 'u', password: 'old' };
    const settings = settingsOfNodeRedis(options);
    options.password = 'new';
    expect({ ...settings }).toMatchObject({ username: 'u', password: 'new' });
  });
});

describe('clusterOfNodeRedis', () => {
  it('reads the nodes, and what they have in common', () => {
    const nodeAddressMap = { 'a:1': { host: 'b', port: 2 } };
    const read = clusterOfNodeRedis({
      rootNodes: [{ url: 'rediss://a:1' }, { socket: { host: 'c', port: 3 } }],
      defaults: { password: 'p', socket: { connectTimeout: 500 } },
      nodeAddressMap,
    });
    expect(read).toMatchObject({
      cluster: [
        { host: 'a', port: 1 },
        { host: 'c', port: 3 },
      ],
      options: { redisOptions: { tls: {}, connectTimeout: 500, password: 'p' }, natMap: nodeAddressMap },
    });
  });

  it('reads user and password of the first node without defaults', () => {
    const { options } = clusterOfNodeRedis({ rootNodes: [{ url: 'redis://u:p@a:1' }] });
    expect(options?.redisOptions).toMatchObject({ username: 'u', password: 'p' });
  });
});
