import { freePort } from './free-port.js';

describe('freePort', () => {
  it('returns each port once, none of another worker, and none from the range of client ports', async () => {
    const ports: number[] = [];
    // Sequential rounds: within one round a port is busy while another call probes it.
    for (let round = 0; round < 10; round += 1) {
      ports.push(...(await Promise.all(Array.from({ length: 100 }, freePort))));
    }

    expect(new Set(ports).size).toBe(1_000);
    expect(Math.max(...ports) - Math.min(...ports)).toBeLessThan(2_500);
    expect(Math.max(...ports)).toBeLessThan(32_768);
  });
});
