import { createLocks } from '../locks/create-locks.js';
import { LockObserver } from './observe.js';

const SILENT = { debug: () => undefined, log: () => undefined, warn: () => undefined };

describe('LockObserver', () => {
  it.each([
    ['one key', 'seat:1', 1],
    ['several keys', ['seat:1', 'seat:2'], 2],
  ])(
    'counts a lease as released when it is detached, and as held when a ticket continues it: %s',
    async (_, key, holds) => {
      const totals: Record<string, number> = {};
      const count = (name: string, change: number): void => void (totals[name] = (totals[name] ?? 0) + change);
      const observer = new LockObserver({
        add: (name, change) => count(name, change),
        record: (name, _seconds, labels) => count(`${name} ${labels.filter((label) => label !== '').join(' ')}`, 1),
        zero: () => undefined,
        set: () => undefined,
      });
      const locks = await createLocks({ connection: 'memory', log: SILENT });

      const ticket = await (await locks.acquire(key)).detach({ ttl: '1m' });
      expect(totals).toMatchObject({ held: 0, waiting: 0, 'hold seat exclusive released': holds });
      const lease = await locks.attach(ticket, { name: 'Seats.confirm' });
      expect(totals).toMatchObject({ held: holds, waiting: 0, 'wait Seats.confirm exclusive acquired': 1 });
      await lease.release();
      expect(totals).toMatchObject({ held: 0, 'hold Seats.confirm exclusive released': holds });
      await expect(locks.attach(ticket)).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(totals).toMatchObject({ held: 0, waiting: 0 });

      observer.stop();
      await locks.close();
    },
  );
});
