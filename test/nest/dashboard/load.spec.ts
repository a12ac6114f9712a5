import { setTimeout as pause } from 'node:timers/promises';

import { eventually } from '../../support/eventually.js';
import { startProcess } from '../../support/second-process.js';
import { useRedis } from '../../support/use-redis.js';
import { PageReader } from './pages.js';

import.meta.jest.setTimeout(120_000);

const HELD = 1_000;
const WAITING = 10_000;
const MEASURED_MS = 10_000;
/** The engine of JavaScript compiles what runs three times a second only after some seconds. */
const WARM_UP_MS = 8_000;

type Instance = ReturnType<typeof startInstance>;

const startInstance = (url: string, prefix: string, name: string) =>
  startProcess<{ ready: string; cpu: number }, { cpu: undefined; release: undefined }>(
    new URL('load.child.ts', import.meta.url),
    {
      ...{ REDIS_URL: url, PREFIX: prefix, NAME: name },
      ...{ HELD: String(HELD / 2), WAITING: String(WAITING / 2) },
    },
  );

/** CPU time of each instance during the measured time, as a share of one core. */
async function shares(instances: readonly Instance[]): Promise<number[]> {
  const used = (): Promise<number[]> =>
    Promise.all(
      instances.map((instance) => {
        instance.send('cpu', undefined);
        return instance.once('cpu');
      }),
    );
  const [startedAt, before] = [performance.now(), await used()];
  await pause(MEASURED_MS);
  const after = await used();
  const ms = performance.now() - startedAt;
  return after.map((cpu, i) => (cpu - before[i]) / ms);
}

describe('the page of two instances with 1,000 locks and 10,000 waiters', () => {
  const redis = useRedis();

  it('costs at most 2 % CPU at each and 1 MB per minute, and is up to date within a second', async () => {
    const instances = ['one', 'two'].map((name) => startInstance(redis.url, redis.prefix, name));
    const [url] = await Promise.all(instances.map((instance) => instance.once('ready', 60_000)));
    await pause(3_000);
    const without = await shares(instances);

    const page = await PageReader.open(url);
    await eventually(() => expect(page.latest('total')).toEqual([HELD, HELD]), 15_000);
    await eventually(() => expect((page.latest('cards') as number[])[1]).toBe(WAITING), 15_000);
    await pause(WARM_UP_MS);
    const bytes = page.bytes;
    const open = await shares(instances);
    const perMinute = ((page.bytes - bytes) * 60_000) / MEASURED_MS;

    // A release at the other instance begins a new hold there.
    const delays: number[] = [];
    for (let i = 0; i < 5; i++) {
      const releasedAt = performance.now();
      instances[1].send('release', undefined);
      await eventually(() => expect((page.latest('cards') as number[])[1]).toBe(WAITING - i - 1), 5_000);
      delays.push(performance.now() - releasedAt);
    }
    const cost = open.map((share, i) => share - without[i]);
    console.info(
      `CPU of the page: ${cost.map((share) => `${(share * 100).toFixed(2)} %`).join(', ')}; ${Math.round(perMinute)} bytes per minute; ` +
        `first ${bytes} bytes; updates after ${delays.map(Math.round).join(', ')} ms`,
    );
    expect(Math.max(...cost)).toBeLessThan(0.02);
    expect(perMinute).toBeLessThan(1_000_000);
    expect(Math.max(...delays)).toBeLessThan(1_000);
  });
});
