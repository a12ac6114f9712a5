import { LIMIT_MS, model } from './command-line.js';
import { KINDS } from './config.js';
import { PLANTS } from './plants.mjs';

describe.each(KINDS)('The rules, with the kind %s', (kind) => {
  it(
    'break an invariant with each planted change',
    async () => {
      const lines = (await model('--kind', kind, '--plants', '--sample')).trim().split('\n');
      expect(lines).toEqual(
        PLANTS.filter((plant) => plant.kind === kind).map(({ name, invariant }) =>
          expect.stringContaining(`${name}: found by "${invariant}"`),
        ),
      );
    },
    LIMIT_MS,
  );
});

it('prints a violation as a schedule', async () => {
  const text = await model('--plant', 'take-held');
  expect(text).toMatch(
    /VIOLATION: only the owner's token frees a lock.*\n +1\. process A begins to wait with A:1\n +2\. /,
  );
});
