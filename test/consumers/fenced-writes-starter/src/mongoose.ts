import { model, Schema } from 'mongoose';

const Stock = model(
  'Stock',
  new Schema({
    _id: String,
    amount: Number,
    fence: { type: Number, required: true, default: 0 },
  }),
);

export async function writeWithMongoose(
  sku: string,
  amount: number,
  fencingToken: number,
): Promise<void> {
  // #region write
  const { matchedCount } = await Stock.updateOne(
    { _id: sku, fence: { $lte: fencingToken } },
    { $set: { amount, fence: fencingToken } },
  );
  if (matchedCount === 0)
    throw new Error('a later holder of the lock has written already');
  // #endregion
}
