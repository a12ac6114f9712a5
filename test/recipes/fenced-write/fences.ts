import { ConflictException } from '@nestjs/common';
import type { EntityManager } from 'typeorm';

// #region fence
/** Rejects if a larger token has passed for `name`. Call it first in the transaction. */
export async function passFence(transaction: EntityManager, name: string, fencingToken: number): Promise<void> {
  const passed = await transaction.sql<unknown[]>`
    INSERT INTO fences (name, token) VALUES (${name}, ${fencingToken})
    ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE fences.token <= excluded.token
    RETURNING token`;
  if (passed.length === 0) throw new ConflictException('a later holder of the lock has written already');
}
// #endregion
