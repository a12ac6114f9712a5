import { EventEmitter } from 'node:events';

import { jest } from '@jest/globals';
import type { Redis } from 'ioredis';

import { ManualClock } from '../../../../../test/support/manual-clock.js';
import type { CancelTimer } from '../../runtime/clock.js';
import { Timers } from '../../runtime/timers.js';
import { Link } from './link.js';

const BEAT_MS = 1_300;

/** Counts the timers that fire. Each of them wakes up the process. */
class CountingClock extends ManualClock {
  wakeUps = 0;

  override after(delayMs: number, callback: () => void): CancelTimer {
    return super.after(delayMs, () => {
      this.wakeUps += 1;
      callback();
    });
  }
}

/** A connected client whose server replies at once. */
class Client extends EventEmitter {
  status = 'ready';
  stream = { bytesRead: 0, destroyed: false };
  ping = jest.fn(async () => Promise.resolve('PONG'));
  time = jest.fn(async () => Promise.resolve(['1', '0']));
}

async function open() {
  const clock = new CountingClock();
  const host = { suspendedMs: 0 };
  jest.spyOn(Date, 'now').mockImplementation(() => clock.now() + host.suspendedMs);
  const client = new Client();
  const link = new Link(client as unknown as Redis, { clock, timers: new Timers(clock), listener: {} });
  await clock.pass(0);
  const call = (): void => {
    link.wrote();
    link.answered();
  };
  return { clock, host, client, link, call };
}

afterEach(() => jest.restoreAllMocks());

describe('Link', () => {
  it('wakes up once a second while nothing is sent', async () => {
    const { clock } = await open();
    await clock.pass(60_000);
    expect(clock.wakeUps).toBe(60);
  });

  it('wakes up at most three times in two heartbeats of a waiter', async () => {
    const { clock, call } = await open();
    for (let beat = 0; beat < 60; beat += 1) {
      call();
      await clock.pass(BEAT_MS);
    }
    expect(clock.wakeUps).toBeLessThanOrEqual(90);
  });

  it('wakes up twice for each probe while messages are expected', async () => {
    const { clock, client, link } = await open();
    link.watchMessages(true);
    await clock.pass(60_000);
    const probes = client.ping.mock.calls.length;
    expect(probes).toBeGreaterThanOrEqual(30);
    expect(clock.wakeUps).toBeLessThanOrEqual(2 * probes + 1);
  });

  // The monotonic clock stops while the host is suspended, so only the wall clock shows it.
  it('sends a request after the host was suspended, although a call comes first', async () => {
    const { clock, host, client, call } = await open();
    await clock.pass(10_000);
    expect(client.ping).not.toHaveBeenCalled();

    host.suspendedMs = 3_000;
    call();
    await clock.pass(1_000);
    clock.turn();
    expect(client.ping).toHaveBeenCalledTimes(1);

    await clock.pass(10_000);
    expect(client.ping).toHaveBeenCalledTimes(1);
  });
});
