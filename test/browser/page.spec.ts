import axe from 'axe-core';
import type { Page } from 'playwright-core';

import { eventually } from '../support/eventually.js';
import type { DemoStarter } from '../e2e/support/demo-starter.js';
import { answered, barsOf, holdsOf, openDemo, overlaps, send } from './support/demo-page.js';

// The tests start processes and a browser, and the machine may be busy.
import.meta.jest.setTimeout(90_000);

/** Clocks of instances are compared through messages, so bars of different instances are exact up to their way. */
const EXACT_MS = 40;
const SOON_MS = 15_000;

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate<axe.AxeResults>('axe.run()');
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

describe('the page of the demo with a private Redis', () => {
  let page: Page;
  let faults: string[];
  let demo: DemoStarter;

  beforeAll(async () => {
    ({ page, faults, demo } = await openDemo());
    await eventually(
      async () => expect(await page.locator('.lk-instances li').allTextContents()).toHaveLength(2),
      SOON_MS,
    );
  });

  // No test begins beside the requests of another one.
  afterEach(() => answered(page, SOON_MS));

  afterAll(async () => demo.kill('SIGTERM'));

  it('shows both instances', async () => {
    expect(await page.locator('.lk-instances li').allTextContents()).toEqual(['instance A', 'instance B']);
  });

  it('shows that one call of ten works and nine are refused with 409', async () => {
    const since = await send(page, 'exclusive', { work: '4000' });

    await eventually(async () => {
      const bars = await barsOf(page, 'post_test_web', since);
      const refused = bars.filter(({ kind }) => kind === 'refused');
      const count = refused.reduce((sum, { text }) => sum + Number(/\d+/.exec(text)?.[0]), 0);
      expect(count).toBe(9);
      expect(holdsOf(bars)).toHaveLength(1);
    }, SOON_MS);
    await eventually(async () => expect(await page.textContent('.demo-answers')).toContain('409'), SOON_MS);
  });

  it('draws bars of one lock that never overlap while callers wait for their turn', async () => {
    const since = await send(page, 'wait', { work: '500' });

    await eventually(async () => {
      const waiting = (await barsOf(page, 'post_test_web', since)).filter(({ kind }) => kind === 'wait');
      expect(waiting.length).toBeGreaterThan(0);
    }, SOON_MS);
    await eventually(async () => {
      const holds = holdsOf(await barsOf(page, 'post_test_web', since));
      expect(holds.filter(({ end }) => end !== Infinity)).toHaveLength(10);
    }, SOON_MS);
    const holds = holdsOf(await barsOf(page, 'post_test_web', since));
    expect(new Set(holds.map(({ place }) => place)).size).toBe(2);
    expect(overlaps(holds, EXACT_MS)).toEqual([]);
  });

  it('marks the time in which no instance holds the lock', async () => {
    const since = await send(page, 'exclusive', { work: '500', to: 'A', each: 1 });

    await eventually(async () => {
      const [hold] = holdsOf(await barsOf(page, 'post_test_web', since));
      expect(hold?.end).not.toBe(Infinity);
      const free = await page
        .locator('.lk-lane', { hasText: 'post_test_web' })
        .locator('.lk-gap-text')
        .allTextContents();
      expect(free.at(-1)).toBe('free');
    }, SOON_MS);
  });

  it('draws overlapping bars for work without a lock', async () => {
    const since = await send(page, 'unlocked', { work: '4000' });

    await eventually(async () => {
      const bars = await barsOf(page, 'UnlockedController', since);
      expect(holdsOf(bars)).toHaveLength(10);
      expect(overlaps(bars, 500)).toHaveLength(45); // each pair of ten
    }, SOON_MS);
    expect(await page.locator('.lk-lane', { hasText: 'UnlockedController' }).locator('.lk-free').count()).toBe(0);
  });

  it('shows two permits of a semaphore at work at once, and no third', async () => {
    const since = await send(page, 'semaphore', { work: '4000' });

    await eventually(async () => {
      const bars = await barsOf(page, 'exports', since);
      expect(holdsOf(bars)).toHaveLength(2);
      expect(overlaps(bars, 500)).toHaveLength(1);
    }, SOON_MS);
  });

  it('reports that a stale write is refused by its fencing token', async () => {
    await send(page, 'stale', { to: 'A', each: 1 });

    await eventually(async () => expect(await page.textContent('.demo-answers')).toContain('412'), SOON_MS);
  });

  it.each([
    ['light', 1180],
    ['dark', 1180],
    ['light', 390],
    ['dark', 390],
  ] as const)('has no violation of accessibility: %s, %d pixels wide', async (colorScheme, width) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 850 });
    const since = await send(page, 'wait', { work: '500', to: 'A' });
    await eventually(async () => {
      const kinds = (await barsOf(page, 'post_test_web', since)).map(({ kind }) => kind);
      expect(kinds).toEqual(expect.arrayContaining(['exclusive', 'wait']));
    }, SOON_MS);

    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await page.setViewportSize({ width: 1180, height: 900 });
  });

  it('sorts and filters by keyboard', async () => {
    await send(page, 'wait', { work: '1500', to: 'A' });
    await page.waitForSelector('tbody tr');
    await page.focus('th[data-column="waiting"] button');
    await page.keyboard.press('Enter');
    expect(await page.getAttribute('th[data-column="waiting"]', 'aria-sort')).toBe('descending');
    await page.keyboard.press('Tab');
    await page.focus('input[type=search]');
    await page.keyboard.type('no such lock');
    await eventually(async () => expect(await page.textContent('#lock-page')).toContain('No lock matches'), SOON_MS);
    await page.fill('input[type=search]', '');
    await page.waitForSelector('tbody tr');
  });

  it('releases a lock by force after a confirmation', async () => {
    const since = await send(page, 'exclusive', { work: '4000', to: 'A', each: 1 });
    await page.click('tbody tr:has-text("post_test_web") button:enabled');
    await page.click('text=Release the lock');

    await eventually(async () => {
      const bars = holdsOf(await barsOf(page, 'post_test_web', since));
      expect(bars.map(({ outcome }) => outcome)).toEqual(['lost']);
    }, SOON_MS);
    expect(demo.output).toContain('was released by force at the request of');
  });

  it('logs no error to the console', () => expect(faults).toEqual([]));
});

describe('the page of the demo while processes end', () => {
  it('ends the bar of a crashed instance, and begins the next one after the ttl', async () => {
    const { page, demo } = await openDemo();
    await eventually(async () => expect(await page.locator('.lk-instances li').count()).toBe(2), SOON_MS);
    const fromB = fetch(`${demo.urls[1]}/post-test/wait`, json({ channel: 'web', workMs: 30_000 })).catch(
      () => undefined,
    );
    await eventually(async () => expect(holdsOf(await barsOf(page, 'post_test_web'))).toHaveLength(1), SOON_MS);
    const fromA = fetch(`${demo.urls[0]}/post-test/wait`, json({ channel: 'web', workMs: 1_000 }));
    await page.click('text=Crash B');
    const crashedAt = Date.now();

    await eventually(async () => {
      const [first] = holdsOf(await barsOf(page, 'post_test_web'));
      expect(first).toMatchObject({ outcome: 'silent' });
    }, SOON_MS);
    expect((await fromA).status).toBe(201);
    await fromB;
    const [first, second] = await eventuallyTwo(page);
    expect(Math.abs(first.end - crashedAt)).toBeLessThan(2_000);
    // The lease of B lasted up to 10 s longer, and renewals had been every 3.3 s.
    expect(second.start - crashedAt).toBeGreaterThan(5_000);
    expect(second.start - crashedAt).toBeLessThan(12_000);

    await page.click('text=Start B');
    await eventually(async () => {
      expect(await page.locator('.lk-instances li[data-responds="true"]').count()).toBe(2);
    }, 30_000);
    await demo.kill('SIGTERM');
  });

  it('recovers when its server starts again, and while Redis is paused', async () => {
    const { page, demo } = await openDemo();
    await page.click('text=Restart A');
    await page.waitForSelector('.lk-status[data-live="false"]');
    expect(await page.textContent('.lk-banner')).toContain('does not answer');
    await page.waitForSelector('.lk-status[data-live="true"]', { timeout: 30_000 });
    await eventually(
      async () => expect(await page.locator('.lk-instances li[data-responds="true"]').count()).toBe(2),
      SOON_MS,
    );

    await page.click('text=Pause Redis');
    await eventually(async () => {
      expect(await page.locator('.lk-instances li[data-responds="false"]').count()).toBe(1);
    }, SOON_MS);
    await eventually(async () => {
      expect(await page.locator('.lk-instances li[data-responds="true"]').count()).toBe(2);
    }, SOON_MS);
    const since = await send(page, 'exclusive', { work: '500' });
    await eventually(async () => expect(holdsOf(await barsOf(page, 'post_test_web', since))).toHaveLength(1), SOON_MS);
    await demo.kill('SIGTERM');
  });

  const json = (body: unknown): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

  async function eventuallyTwo(page: Page) {
    await eventually(async () => expect(holdsOf(await barsOf(page, 'post_test_web'))).toHaveLength(2), SOON_MS);
    return holdsOf(await barsOf(page, 'post_test_web')) as [Bar, Bar];
  }

  type Bar = Awaited<ReturnType<typeof barsOf>>[number];
});

describe('the jobs on the page of the demo', () => {
  it('show one leader, which moves when its instance is stopped, and each tick once', async () => {
    const { page, demo } = await openDemo();
    const leader = async () => /Instance (\w) leads/.exec((await page.textContent('#demo-controls')) ?? '')?.[1];
    await eventually(async () => expect(await leader()).toMatch(/^[AB]$/), SOON_MS);
    const first = await leader();

    // The instance that serves the page can only restart.
    await page.click(first === 'A' ? 'text=Restart A' : 'text=Crash B');

    const other = first === 'A' ? 'B' : 'A';
    await eventually(async () => expect(await leader()).toBe(other), SOON_MS);
    await eventually(async () => {
      const ticks = await page.locator('.demo-ticks li').allTextContents();
      const times = ticks.map((text) => text.split(' by ')[0]);
      expect(ticks.length).toBeGreaterThanOrEqual(3);
      expect(new Set(times).size).toBe(ticks.length);
      expect(ticks[0]).toMatch(/ by [AB]$/);
    }, 30_000);
    await demo.kill('SIGTERM');
  });
});

describe('the page of the demo without Redis', () => {
  it('shows contention between two instances of one process, and says so', async () => {
    const { page, demo, faults } = await openDemo({ withoutRedisServer: true });
    expect(demo.output).toContain('the memory of one process with all instances');
    expect(demo.urls).toHaveLength(2);
    await page.waitForSelector('text=both instances run in one process');
    expect(await page.locator('text=Crash B').count()).toBe(0);
    await eventually(async () => expect(await page.locator('.lk-instances li').count()).toBe(2), SOON_MS);
    await send(page, 'exclusive', { work: '500' });
    await eventually(async () => {
      const bars = await barsOf(page, 'post_test_web');
      expect(bars.filter(({ kind }) => kind === 'refused').length).toBeGreaterThan(0);
      expect(holdsOf(bars)).toHaveLength(1);
    }, SOON_MS);
    expect(faults).toEqual([]);
    await demo.kill('SIGTERM');
  });
});
