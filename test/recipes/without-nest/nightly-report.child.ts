// #region program
import { createLocks } from 'nestjs-distribute-lock/core';

import { writeReport } from './report.js';

const locks = await createLocks({ connection: process.env['REDIS_URL'] });
try {
  await locks.withLock('nightly-report', { wait: '1m' }, async (lease) => {
    await writeReport(lease.fencingToken, lease.signal);
  });
} finally {
  await locks.close(); // the connections to Redis keep the process alive until then
}
// #endregion
process.disconnect?.();
