import { freePort } from './free-port.js';

describe('freePort', () => {
  it('gives no port twice, none of another worker, and none that a client may be given', async () => {
    const ports: number[] = [];
    // One round after the other: in a round of its own, a port is busy while somebody else looks at it.
    for (let round = 0; round < 10; round += 1) {
      ports.push(...(await Promise.all(Array.from({ length: 100 }, freePort))));
    }

    expect(new Set(ports).size).toBe(1_000);
    expect(Math.max(...ports) - Math.min(...ports)).toBeLessThan(2_500);
    expect(Math.max(...ports)).toBeLessThan(32_768);
  });
});
