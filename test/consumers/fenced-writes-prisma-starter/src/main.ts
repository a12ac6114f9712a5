/** Writes with real fencing tokens, by Prisma, into SQLite. Prints what was refused, as JSON. */
import { PrismaLibSql } from '@prisma/adapter-libsql';
import { createLocks } from 'distribute-lock';

import { PrismaClient } from './generated/client.js';
import { writeWithPrisma } from './prisma.js';

const REFUSED = 'a later holder of the lock has written already';

const prisma = new PrismaClient({
  adapter: new PrismaLibSql({ url: 'file:stock.db' }),
});
const locks = await createLocks({ connection: process.env['REDIS_URL'] });
const tokenOf = (key: string): Promise<number> =>
  locks.withLock(key, ({ fencingToken }) => fencingToken);

/** The outcome of a write. */
async function outcome(amount: number, fencingToken: number): Promise<string> {
  return writeWithPrisma(prisma, 'book', amount, fencingToken).then(
    () => 'written',
    (error: unknown) =>
      error instanceof Error && error.message === REFUSED
        ? 'refused'
        : String(error),
  );
}

try {
  await prisma.$executeRawUnsafe(
    'CREATE TABLE stock (sku TEXT PRIMARY KEY, amount INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0)',
  );
  await prisma.stock.createMany({
    data: [
      { sku: 'book', amount: 1 },
      { sku: 'pen', amount: 1 },
    ],
  });
  const earlier = await tokenOf('stock:book');
  const later = await tokenOf('stock:book');
  const outcomes = [
    await outcome(20, later),
    await outcome(20, later),
    await outcome(10, earlier),
  ];
  const rows = await prisma.stock.findMany({
    select: { sku: true, amount: true },
    orderBy: { sku: 'asc' },
  });
  console.log(
    JSON.stringify({
      prisma: { outcomes, rows: rows.map(({ sku, amount }) => [sku, amount]) },
    }),
  );
} finally {
  await prisma.$disconnect();
  await locks.close();
}
