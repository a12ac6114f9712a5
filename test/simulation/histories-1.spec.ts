import { describeHistories } from './describe-histories.js';

describe('Simulated histories, part 1', () => describeHistories(1));
