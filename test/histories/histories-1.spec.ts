import { describeHistories } from './describe-histories.js';

describe('A history of real processes on a real Redis, part 1', () => {
  describeHistories(0);
});
