import type { DataSource } from 'typeorm';

import { DraftsService } from './editing/drafts.service.js';
import { startSql } from './support/sql.js';

describe('recipe: a lock across requests', () => {
  let database: DataSource;
  let drafts: DraftsService;

  beforeEach(async () => {
    database = await startSql(
      "CREATE TABLE drafts (id TEXT PRIMARY KEY, text TEXT, editor TEXT NOT NULL DEFAULT '', reserved_until INTEGER NOT NULL DEFAULT 0)",
      "INSERT INTO drafts (id, text) VALUES ('d-1', '')",
    );
    drafts = new DraftsService(database);
  });

  const textOf = async () => (await database.query<{ text: string }[]>('SELECT text FROM drafts'))[0]?.text;

  it('reserves a draft for one user, who may extend and leave it', async () => {
    expect(await drafts.edit('d-1', 'ada')).toBe(true);
    expect(await drafts.edit('d-1', 'ada')).toBe(true);
    expect(await drafts.edit('d-1', 'bob')).toBe(false);
    await drafts.leave('d-1', 'ada');
    expect(await drafts.edit('d-1', 'bob')).toBe(true);
  });

  it('refuses the text of a user whose reservation has ended and who was replaced', async () => {
    await drafts.edit('d-1', 'ada');
    await database.query('UPDATE drafts SET reserved_until = unixepoch() - 1');
    await drafts.save('d-1', 'ada', 'late, but no other user came');
    expect(await drafts.edit('d-1', 'bob')).toBe(true);
    await expect(drafts.save('d-1', 'ada', 'too late')).rejects.toThrow('another user edits this draft now');
    expect(await textOf()).toBe('late, but no other user came');
  });
});
