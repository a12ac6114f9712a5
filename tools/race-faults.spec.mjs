import { raceFaults } from './race-faults.mjs';

const faultsOf = (text) => raceFaults('a.spec.ts', text).map((fault) => fault.replace(/ \(.*/, ''));

describe('raceFaults', () => {
  it('finds a bound on a duration, and accepts a limit that only ends a hang', () => {
    expect(faultsOf('expect(performance.now() - startedAt).toBeLessThan(50);')).toEqual([
      'a.spec.ts:1: compares a duration with a bound',
    ]);
    expect(faultsOf('expect(answer.tookMs).toBeLessThan(1_000);')).toHaveLength(1);
    expect(faultsOf('expect(performance.now() - startedAt).toBeLessThan(10_000);')).toEqual([]);
    expect(faultsOf('expect(performance.now() - startedAt).toBeGreaterThanOrEqual(50);')).toEqual([]);
  });

  it('finds a short lease that is renewed, and accepts one whose end is tested', () => {
    expect(faultsOf("await acquire('a', { ttl: 300 });")).toEqual(['a.spec.ts:1: renews a lease of at most 1 s']);
    expect(faultsOf("const lease = await acquire('a', { ttl: '300ms', wait: 0 });")).toHaveLength(1);
    expect(faultsOf("await acquire('a', { ttl: 300, renew: false });")).toEqual([]);
    expect(faultsOf("const module = forRoot({ connection: store, defaults: { ttl: '1s' } });")).toHaveLength(1);
    expect(faultsOf("await acquire('a', { ttl: '30s' });")).toEqual([]);
  });

  it('finds an expectation after a pause', () => {
    expect(faultsOf('await sleep(50);\n  expect(lease.isHeld()).toBe(true);')).toEqual([
      'a.spec.ts:1: expects something after a pause',
    ]);
    expect(faultsOf('await sleep(50);\n  gate.open();')).toEqual([]);
  });

  it('finds digits of a duration', () => {
    expect(faultsOf('expect(line).toMatch(/held for 0.[4-9] s/);')).toEqual([
      'a.spec.ts:1: expects digits of a duration',
    ]);
    expect(faultsOf('expect(line).toMatch(/held for \\d.\\d s/);')).toEqual([]);
  });

  it('accepts a place with a reason, and a clock that the test moves', () => {
    expect(faultsOf('await sleep(50);\n// Real time: nothing may happen.\nexpect(events).toEqual([]);')).toEqual([]);
    expect(faultsOf('const clock = new ManualClock();\nawait sleep(50);\nexpect(events).toEqual([]);')).toEqual([]);
  });
});
