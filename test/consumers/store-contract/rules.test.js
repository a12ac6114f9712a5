// Each rule is a test of node:test, for the stores of this package.
import { after, describe, it } from 'node:test';
import { openStore, StoreContract } from 'nestjs-distribute-lock/testing/contract';

const memory = openStore('memory');
const stores = {
  memory: () => memory,
  Redis: () => openStore(process.env.REDIS_URL, { prefix: 'rules:' }),
};

for (const [name, open] of Object.entries(stores)) {
  void describe(name, () => {
    const contract = new StoreContract({ open });
    after(() => contract.close());
    for (const rule of contract.rules) {
      void it(rule.name, async (test) => {
        if (!(await rule.run())) test.skip(`lacks ${rule.feature}`);
      });
    }
  });
}
