import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { lockChannels, LockModule } from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { Geocoder } from './limits/geocoder.js';
import { GeocodingApi } from './limits/geocoding-api.js';

const PERMITS = 10;

describe('recipe: starts per second, and calls at a time', () => {
  const redis = useRedis();
  const api = new GeocodingApi();
  const instances: INestApplicationContext[] = [];
  /** When each hold started, in milliseconds, by the name of the lock. */
  const starts = new Map<string, number[]>();
  /** How long the event loop was blocked: a start may be noted that much later than the lock counts it. */
  let stalls: IntervalHistogram;

  beforeAll(async () => {
    for (let instance = 1; instance <= 2; instance += 1) {
      const module = await Test.createTestingModule({
        imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
        providers: [Geocoder, { provide: GeocodingApi, useValue: api }],
      }).compile();
      instances.push(await module.init());
    }
    lockChannels.hold.start.subscribe(note);
  });

  afterAll(async () => {
    lockChannels.hold.start.unsubscribe(note);
    await Promise.all(instances.map((app) => app.close()));
  });

  beforeEach(() => {
    starts.clear();
    api.mostAtOnce = 0;
    stalls = monitorEventLoopDelay({ resolution: 5 });
    stalls.enable();
  });

  afterEach(() => stalls.disable());

  function note(message: unknown): void {
    const { name } = message as { name: string };
    starts.set(name, [...(starts.get(name) ?? []), performance.now()]);
  }

  const geocoder = (call: number) => instances[call % 2].get(Geocoder);
  const calls = <T>(count: number, call: (at: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, at) => call(at)));

  /** Expects that the tenth start after each start came a second later. */
  function expectTenASecond(name: string): void {
    const times = starts.get(name) ?? [];
    const gaps = times.slice(PERMITS).map((time, at) => time - times[at]);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000 - stalls.max / 1e6);
  }

  it('starts at most 10 calls in any second, from two instances', async () => {
    const found = await calls(35, (at) => geocoder(at).find(`${at}`));

    expect(found).toEqual(Array.from({ length: 35 }, (_, at) => `found ${at}`));
    expect(starts.get('Geocoder.find')).toHaveLength(35);
    expectTenASecond('Geocoder.find');
  });

  it('keeps both limits: calls at a time, and starts per second', async () => {
    api.latency = () => delay(50);
    await calls(25, (at) => geocoder(at).findSlowly(`${at}`));

    expect(api.mostAtOnce).toBe(3);
    expect(starts.get('geocoder')).toHaveLength(25);
    expectTenASecond('geocoder');
  });

  it('leaves nothing in Redis when the last permit has expired', async () => {
    await eventually(async () => {
      const left = await redis.keys();
      expect(left.filter((key) => key.includes('geocoder'))).toEqual([]);
    }, 30_000);
  });
});
