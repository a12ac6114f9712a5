import { startProcess } from '../support/second-process.js';

interface Seen {
  above: string[];
  failing: string[];
  below: string[];
  warnings: string[];
  rows: unknown[];
}

/** Uses a separate process: on Node 20, Jest cannot load packages that `require` the ES modules of Nest 12. */
describe('@DistributeLock with a real @Transactional', () => {
  let seen: Seen;

  beforeAll(async () => {
    const child = startProcess<{ seen: Seen }>(new URL('transactional.child.ts', import.meta.url));
    seen = await child.once('seen');
    await child.kill();
  });

  it('above it holds the lock from before the transaction until after the commit', () => {
    const inside = ['BEGIN TRANSACTION', 'INSERT INTO orders', 'COMMIT'];
    expect(seen.above).toEqual(['acquire order:7', ...inside, 'release order:7']);
  });

  it('above it releases after the rollback, too', () => {
    const inside = ['BEGIN TRANSACTION', 'INSERT INTO orders', 'ROLLBACK'];
    expect(seen.failing).toEqual(['acquire order:broken', ...inside, 'release order:broken', 'Error: no such order']);
    expect(seen.rows).toEqual([{ id: '7' }, { id: '8' }]);
  });

  it('below it is reported at start, and above it is not', () => {
    expect(seen.warnings).toEqual([
      expect.stringMatching(/^Another decorator wraps Orders\.below above @DistributeLock/),
    ]);
  });

  it('below it would release before the commit, so it must be above', () => {
    const inside = ['acquire order:8', 'INSERT INTO orders', 'release order:8'];
    expect(seen.below).toEqual(['BEGIN TRANSACTION', ...inside, 'COMMIT']);
  });
});
