import { optionsInstead, ownClusterOptions, ownOptions, pauseMs } from './own-options.js';

describe('ownClusterOptions', () => {
  it('disables automatic pipelining: some versions of the client refuse keys of several slots in one tick', () => {
    expect(ownClusterOptions({ enableAutoPipelining: true })).toMatchObject({ enableAutoPipelining: false });
  });
});

describe('reconnection', () => {
  it('is decided by the library, because a client that gives up would end all locks of the process', () => {
    const giveUp = (): null => null;
    const reconnects = { retryStrategy: pauseMs, sentinelRetryStrategy: pauseMs, reconnectOnError: null };
    const options = {
      sentinels: [],
      retryStrategy: giveUp,
      sentinelRetryStrategy: giveUp,
      reconnectOnError: () => false,
    };
    expect(ownOptions(options)).toMatchObject(reconnects);
    expect(optionsInstead(options)).toMatchObject(reconnects);
    expect(ownClusterOptions({ clusterRetryStrategy: giveUp })).toMatchObject({ clusterRetryStrategy: pauseMs });
  });
});

describe('keepAlive', () => {
  it('has a default unless the user sets it', () => {
    expect(ownOptions({})).toMatchObject({ keepAlive: 10_000 });
    expect(ownOptions({ keepAlive: 3_000 })).toMatchObject({ keepAlive: 3_000 });
    expect(ownClusterOptions({}).redisOptions).toMatchObject({ keepAlive: 10_000 });
    expect(ownClusterOptions({ redisOptions: { keepAlive: 3_000 } }).redisOptions).toMatchObject({ keepAlive: 3_000 });
  });

  it("has a default on connections copied from an application's client that has the default of ioredis 5", () => {
    expect(optionsInstead({ keepAlive: 0 })).toMatchObject({ keepAlive: 10_000 });
    expect(optionsInstead({ keepAlive: 3_000 })).not.toHaveProperty('keepAlive');
  });
});
