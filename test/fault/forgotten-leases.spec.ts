import { COLLECTING, SecondProcess } from '../support/second-process.js';
import { eventually } from '../support/eventually.js';
import type { Forgotten } from './support/forgetful.child.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const SCRIPT = new URL('./support/forgetful.child.ts', import.meta.url);

describe('P29: a forgotten lease', () => {
  const world = useLockWorld();

  it('ends when its handle is garbage-collected, and names the call', async () => {
    const child = new SecondProcess<{ lost: Forgotten; kept: boolean; collected: undefined }>(
      SCRIPT,
      { LOCK_URL: world.server.url },
      COLLECTING,
    );
    const lost: Forgotten[] = [];
    child.on('lost', (each) => lost.push(each));
    await child.once('collected', 60_000);
    const names = lost.map(({ name }) => name).toSorted();
    expect(names).toEqual(['error', 'permits', 'race', 'reader', 'two keys', 'two keys']);
    for (const { name, reason, message } of lost) {
      expect(reason).toBe('forgotten');
      expect(message).toContain(`"${name}"`);
    }
    expect(await child.once('kept')).toBe(true);
    for (const key of ['race', 'error', 'one', 'two', 'read', 'permits'])
      await eventually(async () => expect(await world.client.exists(PREFIX + key)).toBe(0));
    expect(await world.client.exists(`${PREFIX}kept`)).toBe(1);
  });
});
