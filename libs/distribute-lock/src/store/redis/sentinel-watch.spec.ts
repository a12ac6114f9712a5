import { sentinelOptions } from './sentinel-watch.js';

describe('sentinelOptions', () => {
  const at = { host: 'sentinel', port: 5_000 };

  it.each([
    [{ ...at, family: 6 as const }, {}, 6],
    [at, { family: 6 as const }, 6],
    [{ ...at, family: 4 as const }, { family: 6 as const }, 4],
    [at, {}, undefined],
  ])('for %j with options %j use the address family %p', (address, options, family) => {
    expect(sentinelOptions(address, options)).toMatchObject(at);
    expect(sentinelOptions(address, options).family).toBe(family);
  });
});
