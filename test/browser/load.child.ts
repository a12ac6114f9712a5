import type { Lease } from 'nestjs-distribute-lock';

import { parentProcess } from '../support/parent-process.js';
import { startPageApp } from '../nest/dashboard/pages.js';

/** An instance that holds `HELD` locks for which `WAITING` callers wait. */
const { REDIS_URL, PREFIX, NAME, TTL_MS, HELD, WAITING } = process.env as Record<string, string>;

const parent = parentProcess<{ cpu: undefined; release: undefined }>();
const { url, locks } = await startPageApp({
  connection: REDIS_URL,
  prefix: PREFIX,
  dashboard: { instance: NAME, showKeys: true },
});
const [held, ttl] = [Number(HELD), Number(TTL_MS)];
const keyOf = (i: number): string => `${NAME}:${i % held}`;
const hold = (i: number): Promise<Lease> => locks.acquire(keyOf(i), { ttl, name: `Load.hold${i % 20}` });
const leases = await Promise.all(Array.from({ length: held }, (_, i) => hold(i)));
/** A lease ends when its handle is collected. */
const served: Lease[] = [];
for (let i = 0; i < Number(WAITING); i++) {
  locks.acquire(keyOf(i), { ttl, wait: '10m', name: 'Load.wait' }).then(
    (lease) => served.push(lease),
    () => undefined,
  );
}
parent.on('cpu', () => {
  const { user, system } = process.cpuUsage();
  parent.send('cpu', (user + system) / 1_000);
});
parent.on('release', () => void leases.pop()!.release());
parent.send('ready', url);
