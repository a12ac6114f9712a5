import { eventually } from '../support/eventually.js';
import { launchStarter } from './support/demo-starter.js';

const SOON_MS = 20_000;

// The tests start processes and wait for ticks of 5 s.
import.meta.jest.setTimeout(90_000);

interface Jobs {
  readonly leader: string | null;
  readonly ticks: readonly { readonly at: string; readonly instance: string }[];
}

const asPage = { 'x-requested-by': 'demo-page', 'content-type': 'application/json' };

async function jobsOn(url: string): Promise<Jobs> {
  const response = await fetch(`${url}/controls/state`, { headers: asPage });
  return ((await response.json()) as { jobs: Jobs }).jobs;
}

async function leaderOn(url: string): Promise<string> {
  let leader: string | null = null;
  await eventually(async () => {
    ({ leader } = await jobsOn(url));
    expect(leader).toMatch(/^[AB]$/);
  }, SOON_MS);
  return leader!;
}

/** Two ticks have run, each on one instance. */
async function expectTicks(url: string): Promise<void> {
  await eventually(async () => expect((await jobsOn(url)).ticks.length).toBeGreaterThanOrEqual(2), SOON_MS);
  const { ticks } = await jobsOn(url);
  expect(new Set(ticks.map(({ at }) => at)).size).toBe(ticks.length);
  for (const { instance } of ticks) expect(instance).toMatch(/^[AB]$/);
}

describe('the jobs of the demo', () => {
  it('have one leader, and one instance runs each tick, in the memory of one process', async () => {
    const demo = await launchStarter({ withoutRedisServer: true });
    await demo.ready();
    const [url] = demo.urls;

    expect(await leaderOn(url)).toMatch(/^[AB]$/);
    await expectTicks(url);
    await demo.kill('SIGTERM');
  });

  it('get another leader when the instance of the leader is stopped, and each tick runs once before and after', async () => {
    const demo = await launchStarter();
    await demo.ready();
    const first = await leaderOn(demo.urls[0]);
    await expectTicks(demo.urls[0]);
    const [left, other] = first === 'A' ? [demo.urls[1], 'B'] : [demo.urls[0], 'A'];

    const stopped = await fetch(`${left}/controls/stop`, {
      method: 'POST',
      headers: asPage,
      body: JSON.stringify({ instance: first }),
    });
    expect(stopped.status).toBe(204);
    const stoppedAt = new Date().toISOString();

    await eventually(async () => expect((await jobsOn(left)).leader).toBe(other), SOON_MS);
    await eventually(async () => {
      const after = (await jobsOn(left)).ticks.filter(({ at }) => at > stoppedAt);
      expect(after.length).toBeGreaterThanOrEqual(2);
      expect(after.map(({ instance }) => instance)).toEqual(after.map(() => other));
    }, SOON_MS);
    await demo.kill('SIGTERM');
  });
});
