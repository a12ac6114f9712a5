import { CONSENT, startPageApp } from '../nest/dashboard/pages.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { openPage } from './support/browser.js';

import.meta.jest.setTimeout(60_000);

describe('a detached lease', () => {
  it('is shown as detached with the time left, until its ticket is used', async () => {
    const { url: redisUrl } = await startRedisServer();
    const app = await startPageApp({
      ...{ connection: redisUrl, prefix: 'detached:' },
      dashboard: { showKeys: true, allowForceRelease: true },
    });
    onCleanup(() => app.close());
    const { page, faults } = await openPage(app.url, { extraHTTPHeaders: CONSENT });
    await page.waitForSelector('.lk-status[data-live="true"]');
    const cell = (column: string) => page.textContent(`tbody tr [data-column="${column}"]`);
    const state = () => page.textContent('.lk-lane .lk-state');

    const ticket = await (await app.locks.acquire('seat:1')).detach({ ttl: '10m' });
    await eventually(async () => {
      expect([await cell('holder'), await cell('left')]).toEqual(['detached', '10 min']);
      expect(await state()).toBe('detached, 10 min left');
      expect(await page.locator('.lk-lane g[data-outcome="detached"]').count()).toBe(1);
      expect(await page.locator('.lk-lane .lk-gap-text').count()).toBe(0);
    }, 15_000);
    await page.click('tbody tr button:enabled');
    expect(await page.textContent('dialog')).toContain('the ticket of the lease becomes useless');
    expect(await page.textContent('dialog')).not.toContain('The holder is notified');
    await page.click('dialog >> text=Cancel');

    const lease = await app.locks.attach(ticket);
    await eventually(async () => expect(await state()).toMatch(/^held by (?!.*detached)/), 15_000);
    await lease.release();
    await eventually(async () => expect(await state()).toBe('free now'), 15_000);
    expect(faults).toEqual([]);
  });
});
