import { describeHistories } from './describe-histories.js';

describe('Simulated histories, part 4', () => describeHistories(4));
