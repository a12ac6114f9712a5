import type { StoreContract, StoreFeature } from 'nestjs-distribute-lock/testing/contract';

import { onCleanup } from '../../support/cleanup.js';

/** Each published rule as a test. A store that lacks a feature must not claim to have it. */
export function describeRules(contract: StoreContract, has: (feature: StoreFeature) => boolean): void {
  onCleanup(() => contract.close());
  for (const { name, feature, run } of contract.rules) {
    const expected = has(feature);
    it(expected ? name : `lacks "${feature}": ${name}`, async () => expect(await run()).toBe(expected));
  }
}
