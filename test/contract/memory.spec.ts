import { MemoryLockStore } from '../../libs/distribute-lock/src/store/memory/memory-lock-store.js';
import { StoreState } from '../support/memory-state.js';
import { describeOnceContract } from './once-contract.js';
import { describeCoreContract } from './core-contract.js';
import { describeHeldOnPurposeContract } from './held-on-purpose-contract.js';
import { describeInspectingContract } from './inspecting-contract.js';
import { describeNestingContract } from './nesting-contract.js';
import { describeOutcomesContract } from './outcomes-contract.js';
import { describeReadWriteContract } from './read-write-contract.js';
import { describeReadWriteStoreContract } from './read-write-store-contract.js';
import { describeSemaphoreContract } from './semaphore-contract.js';
import { describeSemaphoreStoreContract } from './semaphore-store-contract.js';
import { describeMultiKeyContract } from './multi-key-contract.js';
import { describeMultiKeyStoreContract } from './multi-key-store-contract.js';
import { describeStoreContract } from './store-contract.js';
import { describeTicketsContract } from './tickets-contract.js';
import type { World } from './world.js';

function memoryWorld(): World {
  const store = new MemoryLockStore();
  const state = new StoreState(store);
  return {
    store: () => store,
    counted: true,
    lacks: ['renewOne'],
    owner: async (key) => state.owner(key),
    leftMs: async (key) => state.leftMs(key),
    overwrite: async (key, owner, ttlMs) => state.overwrite(key, owner, ttlMs),
    waiting: async (key) => state.queued(key).length,
    leftovers: async () => state.keys(),
  };
}

describe('MemoryLockStore', () => describeStoreContract(memoryWorld));
describe('MemoryLockStore, permits', () => describeSemaphoreStoreContract(memoryWorld));
describe('MemoryLockStore, several keys', () => describeMultiKeyStoreContract(memoryWorld));
describe('MemoryLockStore, readers and writers', () => describeReadWriteStoreContract(memoryWorld));
describe('LockEngine on the memory store', () => describeCoreContract(memoryWorld));
describe('A nested call on the memory store', () => describeNestingContract(memoryWorld));
describe('A semaphore on the memory store', () => describeSemaphoreContract(memoryWorld));
describe('A read/write lock on the memory store', () => describeReadWriteContract(memoryWorld));
describe('A key held on purpose on the memory store', () => describeHeldOnPurposeContract(memoryWorld));
describe('Events and errors on the memory store', () => describeOutcomesContract(memoryWorld));
describe('Inspecting locks on the memory store', () => describeInspectingContract(memoryWorld));
describe('A detached lease on the memory store', () => describeTicketsContract(memoryWorld));
describe('Ticks on the memory store', () => describeOnceContract(memoryWorld));
describe('Several keys on the memory store', () => describeMultiKeyContract(memoryWorld));
