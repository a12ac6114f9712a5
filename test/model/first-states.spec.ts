import { LIMIT_MS, model } from './command-line.js';
import { KINDS } from './config.js';

describe.each(KINDS)('The rules, with the kind %s', (kind) => {
  it(
    'break no invariant in the first states',
    async () => {
      const searches = (await model('--kind', kind, '--sample')).trim().split('\n');
      expect(searches).toHaveLength(5);
      for (const search of searches) expect(search).toMatch(/^.*: [\d,]{5,} states, .* depth \d+/);
    },
    LIMIT_MS,
  );
});
