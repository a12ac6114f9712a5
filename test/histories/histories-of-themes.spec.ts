import { describeThemes } from './describe-histories.js';

describe('A history of real processes on a real Redis, with a theme', () => {
  describeThemes();
});
