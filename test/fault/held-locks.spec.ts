import { COLLECTING, SecondProcess } from '../support/second-process.js';
import { useLockWorld } from './support/use-lock-world.js';

const SCRIPT = new URL('./support/hoarder.child.ts', import.meta.url);

describe('A held lock', () => {
  const world = useLockWorld();

  it('takes at most 680 bytes of heap', async () => {
    const child = new SecondProcess<{ heap: number }>(SCRIPT, { LOCK_URL: world.server.url }, COLLECTING);
    const bytes = await child.once('heap');
    expect(bytes).toBeGreaterThan(100);
    expect(bytes).toBeLessThanOrEqual(680);
  });
});
