import { and, eq, lte } from 'drizzle-orm';
import type { SQLJsDatabase as Database } from 'drizzle-orm/sql-js';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const stock = sqliteTable('stock', {
  sku: text().primaryKey(),
  amount: integer().notNull(),
  fence: integer().notNull().default(0),
});

export async function writeWithDrizzle(
  database: Database,
  sku: string,
  amount: number,
  fencingToken: number,
): Promise<void> {
  // #region write
  const written = await database
    .update(stock)
    .set({ amount, fence: fencingToken })
    .where(and(eq(stock.sku, sku), lte(stock.fence, fencingToken)))
    .returning({ sku: stock.sku });
  if (written.length === 0)
    throw new Error('a later holder of the lock has written already');
  // #endregion
}
