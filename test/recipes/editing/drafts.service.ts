import { ConflictException, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** How long a user keeps a draft without another request, in seconds. The page calls `edit` again every minute. */
const EDIT_SECONDS = 180;

@Injectable()
export class DraftsService {
  constructor(private readonly database: DataSource) {}

  /** Reserves the draft for the user, or extends the reservation; `false` while another user has it. */
  async edit(id: string, user: string): Promise<boolean> {
    const reserved = await this.database.query<unknown[]>(
      `UPDATE drafts SET editor = ?, reserved_until = unixepoch() + ?
       WHERE id = ? AND (editor = ? OR reserved_until <= unixepoch()) RETURNING id`,
      [user, EDIT_SECONDS, id, user],
    );
    return reserved.length > 0;
  }

  async save(id: string, user: string, text: string): Promise<void> {
    const saved = await this.database.query<unknown[]>(
      'UPDATE drafts SET text = ? WHERE id = ? AND editor = ? RETURNING id',
      [text, id, user],
    );
    if (saved.length === 0) throw new ConflictException('another user edits this draft now');
  }

  async leave(id: string, user: string): Promise<void> {
    await this.database.query('UPDATE drafts SET reserved_until = 0 WHERE id = ? AND editor = ?', [id, user]);
  }
}
