import { runHistory } from './history.js';
import { planOf } from './plan-of-seed.js';

describe('A semaphore in the last millisecond of its last lease', () => {
  // An acquire arrives in this millisecond, in which the server still has the key.
  it('goes to a waiter', async () => {
    expect((await runHistory(planOf(955_644_333))).violation).toBeUndefined();
  });
});
