import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

import { Redis } from 'ioredis';

import { LockEvents } from '../../libs/distribute-lock/src/events.js';
import { logEvents } from '../../libs/distribute-lock/src/locks/event-log.js';
import { Locks as Door } from '../../libs/distribute-lock/src/locks/locks.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startMonitor } from '../support/monitor.js';
import { openLocks } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const ttl = '30s';
const SECRET_LENGTH = 22;
const SEMAPHORE = { kind: 'semaphore', permits: 2 } as const;

describe('P32: the secret of a ticket', () => {
  const world = useLockWorld();
  const seen: string[] = [];
  const tickets: string[] = [];
  const errors: unknown[] = [];

  /** Locks whose events and log lines are recorded. */
  function open(url: string): Door {
    const events = new LockEvents();
    events.listen((event) => seen.push(JSON.stringify(event), inspect(event, { depth: 5 })));
    const note = (text: string): void => void seen.push(text);
    logEvents(events, { log: note, warn: note, debug: note });
    const { engine } = openLocks(url, { events });
    onCleanup(() => engine.close());
    return new Door(() => engine);
  }

  async function fails(call: Promise<unknown>): Promise<void> {
    const error: unknown = await call.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    errors.push(error);
  }

  /** All keys of the server, with their values. */
  async function dump(): Promise<void> {
    for (const key of await world.client.keys('*')) {
      const type = await world.client.type(key);
      const value =
        type === 'string' ? await world.client.get(key) : await world.client.zrange(key, '0', '-1', 'WITHSCORES');
      seen.push(key, JSON.stringify(value));
    }
  }

  const ticketOf = async (detached: Promise<string>): Promise<string> => {
    const ticket = await detached;
    tickets.push(ticket);
    await dump();
    return ticket;
  };

  it('is in no command, key, value, message, event, log line or error', async () => {
    const monitor = await startMonitor(world.server.port);
    const subscriber = new Redis(world.server.url);
    onCleanup(() => subscriber.disconnect());
    const messages: string[] = [];
    subscriber.on('pmessage', (_pattern, channel: string, message: string) => messages.push(`${channel} ${message}`));
    await subscriber.psubscribe('*');
    const proxy = await world.proxy();
    const [here, there, away] = [open(world.server.url), open(world.server.url), open(proxy.url)];
    const key = world.newKey();

    for (const options of [{}, SEMAPHORE]) {
      const held = await here.acquire(`${key}-${'kind' in options}`, { ttl, ...options });
      const waiting = there.acquire(held.key, { ...options, weight: 'kind' in options ? 2 : undefined, wait: ttl });
      const ticket = await ticketOf(held.detach({ ttl }));
      seen.push(inspect(await there.inspect(held.key), { depth: 5 }), inspect(held, { depth: 5 }));
      const attached = await there.attach(ticket, { ttl });
      await fails(here.attach(ticket));
      await fails(here.attach(`${ticket.slice(0, -1)}!`));
      await fails(here.attach(`lt2${ticket.slice(3)}`));
      await fails(here.cancel(ticket.replace(/_..../, ticket.includes('_AAAA') ? '_BBBB' : '_AAAA')));
      expect(await here.cancel(ticket)).toBe(false);
      await dump();
      await attached.release();
      await (await waiting).release();
    }
    const several = await here.acquire([`${key}-1`, `${key}-2`], { ttl });
    expect(await there.cancel(await ticketOf(several.detach({ ttl })))).toBe(true);
    const forced = await ticketOf((await here.acquire(key, { ttl })).detach({ ttl }));
    expect(await there.forceRelease(key)).toBe(true);
    await fails(there.attach(forced));
    const limited = await ticketOf((await here.acquire(key, { ttl })).detach({ ttl }));
    await sleep(100);
    await fails(there.attach(limited, { maxHold: '50ms', ttl: '50ms' }));
    await there.steal(key).then((lease) => lease.release());
    await fails(there.attach(limited));
    const last = await ticketOf((await here.acquire(`${key}-last`, { ttl })).detach({ ttl }));
    await (await away.acquire(`${key}-away`)).release();
    proxy.goDown();
    await fails(away.attach(last));
    await fails(away.cancel(last));

    await world.client.ping('the end');
    await eventually(() => expect(monitor.commands().at(-1)?.args.join(' ')).toContain('the end'));
    const sent = monitor.commands().map(({ args }) => args.join(' '));
    // The monitor shows the moves, and the subscriber gets the messages to waiters.
    expect(sent.filter((text) => / m [\w-]{22}:/.test(text)).length).toBeGreaterThan(5);
    expect(messages.length).toBeGreaterThan(0);
    for (const error of errors) {
      const { message, stack } = error as Error;
      seen.push(message, String(stack), String(error), JSON.stringify(error));
      seen.push(inspect(error, { depth: 8, showHidden: true }));
    }
    const all = [...seen, ...sent, ...messages];
    expect(tickets).toHaveLength(6);
    for (const ticket of tickets) {
      for (const text of all) expect(text).not.toContain(ticket.slice(-SECRET_LENGTH));
    }
    // What the texts contain instead: the hash that names the record.
    expect(sent.some((text) => text.includes('t1:'))).toBe(true);
  });
});
