import { type SecondProcess, startProcess } from '../support/second-process.js';
import { combinations } from './decorators/combinations.js';
import type { Observation } from './decorators/observe.js';

type Seen = Record<string, { locked: Observation; unlocked: Observation }>;

const STATUSES = [202, 403, 400, 400, 418, 429, 202, 202, 403];

/** Uses a separate process: on Node 20, Jest cannot load packages that `require` the ES modules of Nest 12. */
describe('the order of decorators', () => {
  let child: SecondProcess<Seen>;

  beforeAll(() => void (child = startProcess(new URL('decorator-orders.child.ts', import.meta.url))));
  afterAll(() => child.kill());

  it.each(combinations(30).map((names) => [names.join(' > '), names] as const))(
    'does not change route, status, guard, role, documents, limits, cache and transaction: %s',
    async (_title, names) => {
      const { locked, unlocked } = await child.once(names.join());

      expect(locked.document).toEqual(unlocked.document);
      expect(locked.answers).toEqual(unlocked.answers);
      expect(locked.statements).toEqual(unlocked.statements);
      expect(unlocked.locks).toEqual([]);

      // Every decorator was effective, and no refused request acquired a lock.
      expect(locked.answers.map((answer) => (answer as [number])[0])).toEqual(STATUSES);
      expect(locked.statements).toEqual(expect.arrayContaining(['COMMIT', 'ROLLBACK']));
      expect(locked.locks).toEqual(['order:7:web', 'order:13:web', 'order:7']);
    },
  );
});
