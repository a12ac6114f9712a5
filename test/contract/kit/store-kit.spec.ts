import { type LockStore, LockStoreError, MemoryLockStore } from 'nestjs-distribute-lock';
import { openStore, StoreContract } from 'nestjs-distribute-lock/testing/contract';

import { describeKeyValueStore } from '../../docs/guide/store-contract.js';
import { newKeyValueClient } from '../../docs/support/key-value-client.js';
import { testPrefix, useRedis } from '../../support/use-redis.js';
import { openSqlite } from './open-sqlite.js';
import { PLANTED, withFault } from './planted-faults.js';
import { SqliteLockStore } from './sqlite-lock-store.js';

const OF_LOCKS_ONLY = ['acquireAll', 'exclusive', 'force', 'inspect'];

/** Each rule as a test, as in a repository of a store. */
function describeContract(contract: StoreContract, features: readonly string[]): void {
  afterAll(() => contract.close());
  for (const { name, feature, run } of contract.rules) {
    const has = features.includes(feature);
    it(has ? name : `lacks "${feature}": ${name}`, async () => expect(await run()).toBe(has));
  }
}

describe('The contract of a store in SQLite', () => {
  const database = openSqlite();
  describeContract(new StoreContract({ open: async () => new SqliteLockStore(await database) }), OF_LOCKS_ONLY);

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
  const prefix = testPrefix();
  const redis = useRedis(prefix);

  const memory = openStore('memory');

  it.each<[string, () => LockStore, readonly string[]]>([
    ['memory', () => memory, ['renews one lease as it renews several']],
    ['Redis', () => openStore(redis.url, { prefix }), []],
  ])(
    'finds no broken rule in the store of this package: %s',
    async (_, open, absent) => {
      const contract = new StoreContract({ open });
      const { followed, broken, lacking } = await contract.check();
      expect(broken).toEqual([]);
      expect(lacking).toEqual(absent);
      expect(followed).toHaveLength(contract.rules.length - absent.length);
      expect(await redis.keys()).toEqual([]);
    },
    120_000,
  );

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
      await expect(rule.run()).rejects.toThrow(/^Expected /);
      await contract.close();
    },
    60_000,
  );
});
