import type { PrismaClient } from './generated/client.js';

export async function writeWithPrisma(
  prisma: PrismaClient,
  sku: string,
  amount: number,
  fencingToken: number,
): Promise<void> {
  // #region write
  const { count } = await prisma.stock.updateMany({
    where: { sku, fence: { lte: fencingToken } },
    data: { amount, fence: fencingToken },
  });
  if (count === 0)
    throw new Error('a later holder of the lock has written already');
  // #endregion
}
