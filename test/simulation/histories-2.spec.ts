import { describeHistories } from './describe-histories.js';

describe('Simulated histories, part 2', () => describeHistories(2));
