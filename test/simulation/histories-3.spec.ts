import { describeHistories } from './describe-histories.js';

describe('Simulated histories, part 3', () => describeHistories(3));
