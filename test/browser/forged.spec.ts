import { Redis } from 'ioredis';

import { CONSENT, startPageApp } from '../nest/dashboard/pages.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { openPage } from './support/browser.js';

import.meta.jest.setTimeout(60_000);

describe('a forged summary with markup', () => {
  it('is shown as text', async () => {
    const { url: redisUrl } = await startRedisServer();
    const app = await startPageApp({ connection: redisUrl, prefix: 'forged:', dashboard: { showKeys: true } });
    const client = new Redis(redisUrl);
    onCleanup(async () => {
      client.disconnect();
      await app.close();
    });
    const { page, faults } = await openPage(app.url, { extraHTTPHeaders: CONSENT });
    await page.waitForSelector('.lk-status[data-live="true"]');

    const markup = '<img src=x onerror="window.forged = true">';
    const [at, ref] = [Date.now(), `default ${markup}`];
    const bar = [1, ref, markup, markup, at, 0, 0, 1];
    const summary = {
      ...{ v: 1, instance: markup, label: markup, number: 0, at, gone: [], bars: [bar] },
      ...{ waiting: 1, waitingSince: at, lost: 0, locks: [[ref, markup, markup, 1, at, at + 60_000, 1, at]] },
    };
    await client.publish('nestjs-lock:1:forged:hints:1', JSON.stringify(summary));

    await eventually(async () => {
      expect(await page.locator('.lk-instances li').allTextContents()).toContain(markup);
      expect(await page.locator('tbody tr').allTextContents()).toEqual([expect.stringContaining(markup)]);
      expect(await page.locator('.lk-lane').allTextContents()).toEqual([expect.stringContaining(markup)]);
    }, 15_000);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.evaluate('window.forged')).toBeUndefined();
    expect(faults).toEqual([]);
  });
});
