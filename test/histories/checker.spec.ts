import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { temporaryFolder } from '../support/temporary-folder.js';
import { HandMade } from './check/hand-made.js';
import { emptyReport } from './replay/replay.js';
import { LOGS } from './replay/server-log.js';
import { Checker } from './run/checker.js';

describe('The check in a separate process', () => {
  const checker = new Checker();
  const held = { called: 0, granted: 1, released: 600 };

  async function folderOf(history: HandMade): Promise<string> {
    const folder = await temporaryFolder('history-');
    await writeFile(join(folder, 'p1.jsonl'), history.lines());
    await mkdir(join(folder, LOGS));
    return folder;
  }

  it('reports the violations of each of several histories, with their events', async () => {
    const right = new HandMade().operation('a', held);
    const wrong = new HandMade().operation('a', held).operation('b', { ...held, token: 2, process: 'p2' });
    const folders = await Promise.all([right, wrong].map(folderOf));
    const [none, some] = await Promise.all(folders.map((folder) => checker.check(folder)));
    expect(none).toEqual({ count: 0, rules: [], shown: [], replay: emptyReport() });
    expect(some).toMatchObject({ count: wrong.violations().length, rules: ['exclusion'] });
    expect(some.shown[0]).toContain('exclusion: ');
  });

  it('fails when it cannot read the events', async () => {
    await expect(new Checker().check('/nowhere')).rejects.toThrow('The check ended early');
  });
});
