import { freePort } from './free-port.js';

describe('freePort', () => {
  it('gives no port twice, and none that a client may be given', async () => {
    const ports = await Promise.all(Array.from({ length: 500 }, freePort));

    expect(new Set(ports).size).toBe(500);
    expect(Math.max(...ports)).toBeLessThan(32_768);
  });
});
