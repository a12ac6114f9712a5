import { StoreContract } from 'nestjs-distribute-lock/testing/contract';

import { type KeyValueClient, KeyValueLockStore } from './key-value-store.js';

/** Declares a test for each rule. */
export function describeKeyValueStore(client: KeyValueClient): void {
  // #region contract
  describe('KeyValueLockStore', () => {
    const contract = new StoreContract({ open: () => new KeyValueLockStore(client) });
    afterAll(() => contract.close());

    for (const { name, run } of contract.rules) it(name, () => run());
  });
  // #endregion
}
