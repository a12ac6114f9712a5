import type { PrismaClient } from './generated/client.js';

// #region write
async function write(
  prisma: PrismaClient,
  sku: string,
  amount: number,
  fencingToken: number,
): Promise<void> {
  const { count } = await prisma.stock.updateMany({
    where: { sku, fence: { lte: fencingToken } },
    data: { amount, fence: fencingToken },
  });
  if (count === 0)
    throw new Error('a later holder of the lock has written already');
}
// #endregion

export { write as writeWithPrisma };
