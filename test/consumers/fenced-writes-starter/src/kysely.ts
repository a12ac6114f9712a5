import type { Kysely } from 'kysely';

export interface Schema {
  readonly stock: { sku: string; amount: number; fence: number };
}

// #region write
async function write(
  database: Kysely<Schema>,
  sku: string,
  amount: number,
  fencingToken: number,
): Promise<void> {
  const { numUpdatedRows } = await database
    .updateTable('stock')
    .set({ amount, fence: fencingToken })
    .where('sku', '=', sku)
    .where('fence', '<=', fencingToken)
    .executeTakeFirst();
  if (numUpdatedRows === 0n)
    throw new Error('a later holder of the lock has written already');
}
// #endregion

export { write as writeWithKysely };
