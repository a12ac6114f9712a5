import { type LockStore, LockStoreError, MemoryLockStore } from 'nestjs-distribute-lock';
import { openStore, StoreContract, type StoreRule } from 'nestjs-distribute-lock/testing/contract';

import { describeKeyValueStore } from '../../docs/guide/store-contract.js';
import { newKeyValueClient } from '../../docs/support/key-value-client.js';
import { describeRules } from './describe-rules.js';
import { openSqlite } from './open-sqlite.js';
import { PLANTED, withFault } from './planted-faults.js';
import { SqliteLockStore } from './sqlite-lock-store.js';

/** What the rule finds. A pause of the machine can hide a lease that ends early, so the rule runs up to 20 times. */
async function findingOf({ run }: StoreRule): Promise<string | undefined> {
  for (let left = 20; left > 0; left -= 1) {
    try {
      await run();
    } catch (error) {
      return (error as Error).message;
    }
  }
  return undefined;
}

const OF_LOCKS_ONLY = ['acquireAll', 'exclusive', 'force', 'inspect'];

describe('The contract of a store in SQLite', () => {
  const database = openSqlite();
  describeRules(new StoreContract({ open: async () => new SqliteLockStore(await database) }), (feature) =>
    OF_LOCKS_ONLY.includes(feature),
  );

  it('reports a failure of the database as one that may pass', async () => {
    const broken = new SqliteLockStore({
      rows: () => {
        throw new Error('disk I/O error');
      },
    });
    const failure = broken.renew([]);
    await expect(failure).rejects.toBeInstanceOf(LockStoreError);
    await expect(failure).rejects.toMatchObject({ passing: true, cause: { message: 'disk I/O error' } });
  });
});

describe('The contract of the store in the guide', () => describeKeyValueStore(newKeyValueClient()));

describe('StoreContract.check', () => {
  // `memory.spec.ts`, `redis.spec.ts` and the topologies run each rule as a test.
  it('finds no broken rule in the store of this package, and closes the stores', async () => {
    const memory = openStore('memory');
    const closed: string[] = [];
    const open = (): LockStore =>
      new Proxy(memory, {
        get(target, name) {
          if (name === 'close') return async () => void closed.push('closed');
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    const contract = new StoreContract({ open });
    const { followed, broken, lacking } = await contract.check();
    expect(broken).toEqual([]);
    expect(lacking).toEqual(['renews one lease as it renews several']);
    expect(followed).toHaveLength(contract.rules.length - 1);
    // Three stores, and the one of the rule about a closed store.
    expect(closed).toHaveLength(4);
  }, 120_000);

  it('has a unique name for each rule', () => {
    const names = new StoreContract({ open: () => new MemoryLockStore() }).rules.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(40);
  });

  it.each(PLANTED)(
    'finds a store that $fault',
    async (fault) => {
      const database = await openSqlite();
      const open = (): LockStore => withFault(new SqliteLockStore(database), fault);
      const contract = new StoreContract({ open, limitMs: 2_000 });
      const rule = contract.rules.find(({ name }) => name === fault.breaks)!;
      expect(await findingOf(rule)).toMatch(/^Expected /);
      await contract.close();
    },
    60_000,
  );
});
