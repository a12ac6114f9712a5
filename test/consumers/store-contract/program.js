// Checks stores with CommonJS as well, and plants a fault in a store over Redis.
import { createRequire } from 'node:module';
import { openStore, StoreContract } from 'nestjs-distribute-lock/testing/contract';

const required = createRequire(import.meta.url)('nestjs-distribute-lock/testing/contract');
const open = () => openStore(process.env.REDIS_URL, { prefix: 'program:' });

/** Renews every lease, also one that another process holds. */
function withFault(store) {
  const renew = async (requests) => requests.map(() => 0);
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'renew') return renew;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const summary = ({ followed, broken, lacking }) => ({
  followed: followed.length,
  broken: broken.map(({ rule }) => rule),
  lacking,
});
const good = await new required.StoreContract({ open }).check();
const bad = await new StoreContract({ open: () => withFault(open()), limitMs: 5_000 }).check();
console.log(JSON.stringify({ good: summary(good), bad: summary(bad) }));
