import type { Page } from 'playwright-core';

import { eventually } from '../../support/eventually.js';
import { DemoStarter, launchStarter, type StarterOptions } from '../../e2e/support/demo-starter.js';
import { type WatchedPage, openPage } from './browser.js';

/** Something that the timeline draws. Times are in milliseconds since 1970. */
export interface DrawnBar {
  readonly place: number;
  readonly kind: string;
  readonly outcome: string;
  readonly start: number;
  /** `Infinity` while it is open. */
  end: number;
  readonly text: string;
}

/** Starts the demo and opens the page of its first instance. */
export async function openDemo(options: StarterOptions = {}): Promise<WatchedPage & { demo: DemoStarter }> {
  const demo = await launchStarter(options);
  await demo.ready();
  const opened = await openPage(demo.urls[0]);
  await opened.page.waitForSelector('.lk-status[data-live="true"]');
  return { ...opened, demo };
}

export interface Sent {
  readonly work?: '500' | '1500' | '4000';
  readonly to?: 'both' | 'A';
  readonly each?: 1 | 5;
}

/** Sends requests with the controls of the page. Returns when they began, for {@link barsOf}. */
export async function send(
  page: Page,
  kind: string,
  { work = '1500', to = 'both', each = 5 }: Sent = {},
): Promise<number> {
  await page.selectOption('select[name=request]', kind);
  await page.selectOption('select[name=to]', to);
  await page.selectOption('select[name=work]', work);
  const since = Date.now();
  await page.click(each === 5 ? 'text=Send 5 at once' : 'text=Send 1');
  return since;
}

/** Waits until all requests of the page have been answered and the page shows that none of their locks is in use. */
export async function answered(page: Page, withinMs: number): Promise<void> {
  await eventually(async () => {
    expect(await page.textContent('.demo-answers')).not.toContain('waiting for the answers');
    const open = (await barsOf(page, '')).filter(({ end }) => end === Infinity);
    expect(open).toEqual([]);
  }, withinMs);
}

/** Runs in the browser. */
const READ_BARS = `[...document.querySelectorAll('.lk-lane')]
  .filter((lane) => lane.textContent.includes(NAME) && !(NAME === '' && lane.textContent.includes('demo-')))
  .flatMap((lane) => [...lane.querySelectorAll('svg[data-place] > g[data-kind]')])
  .map((bar) => ({
    place: Number(bar.closest('svg').dataset.place),
    kind: bar.dataset.kind,
    outcome: bar.dataset.outcome ?? '',
    start: Number(bar.dataset.start),
    end: Number(bar.dataset.end),
    text: bar.textContent,
  }))`;

/**
 * The bars of the lane whose title contains `name`, of requests that were sent at `since` or later. An empty name selects all lanes
 * but those of the jobs, one of which is always held.
 */
export async function barsOf(page: Page, name: string, since = 0): Promise<DrawnBar[]> {
  const bars = await page.evaluate<DrawnBar[]>(READ_BARS.replaceAll('NAME', JSON.stringify(name)));
  for (const bar of bars) if (bar.end === 0) bar.end = Infinity;
  return bars.filter(({ start }) => start >= since);
}

/** The holds among the bars, in order of time. */
export const holdsOf = (bars: readonly DrawnBar[]): DrawnBar[] =>
  bars.filter(({ kind }) => kind !== 'wait' && kind !== 'refused').toSorted((a, b) => a.start - b.start);

/** Pairs of bars that overlap by more than `byMs`. */
export function overlaps(bars: readonly DrawnBar[], byMs: number): (readonly [DrawnBar, DrawnBar])[] {
  const inOrder = holdsOf(bars);
  return inOrder.flatMap((a, i) =>
    inOrder
      .slice(i + 1)
      .flatMap((b) => (Math.min(a.end, b.end) - Math.max(a.start, b.start) > byMs ? [[a, b] as const] : [])),
  );
}
