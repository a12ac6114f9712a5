export { openStore, type OpenStoreOptions } from './open-store.js';
export { StoreContract, type StoreContractOptions, type StoreReport } from './store-contract.js';
export type { StoreFeature, StoreRule } from './store-rule.js';
