import type { Kysely } from 'kysely';

export interface Schema {
  readonly stock: { sku: string; amount: number; fence: number };
}

export async function writeWithKysely(
  database: Kysely<Schema>,
  sku: string,
  amount: number,
  fencingToken: number,
): Promise<void> {
  // #region write
  const { numUpdatedRows } = await database
    .updateTable('stock')
    .set({ amount, fence: fencingToken })
    .where('sku', '=', sku)
    .where('fence', '<=', fencingToken)
    .executeTakeFirst();
  if (numUpdatedRows === 0n)
    throw new Error('a later holder of the lock has written already');
  // #endregion
}
