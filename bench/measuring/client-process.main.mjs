/** The main script of a client process: opens one adapter and makes the calls of one workload for its parent. */
import { Redis } from 'ioredis';

import { loadAdapter } from '../adapters/index.mjs';
import { commandCount } from './command-count.mjs';

const [workloadUrl, adapterName, url, options] = process.argv.slice(2);

const { calls } = await import(workloadUrl);
const adapter = await loadAdapter(adapterName);
/** A connection for the work under the lock, and for queries. */
const work = new Redis(url);
const locks = await adapter.open({ url, ...JSON.parse(options) });
const context = { locks, work, url, commands: () => commandCount(work, adapter.sends) };

process.on('message', ({ id, name, args }) => {
  calls[name](context, args).then(
    (result) => process.send({ id, result }),
    (error) => process.send({ id, error: error.stack }),
  );
});
process.once('disconnect', () => process.exit());
process.send({ ready: true });
