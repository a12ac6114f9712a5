import { execFileSync } from 'node:child_process';

import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

import { onCleanup } from '../../support/cleanup.js';

let browser: Promise<Browser> | undefined;

/** A page of Chromium from the PATH. The test fails with the texts of `faults` if the page logs an error. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors of the console and of scripts. */
  readonly faults: string[];
}

/** Opens a page in a separate context. */
export async function openPage(url: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await (await launched()).newContext({ viewport: { width: 1180, height: 900 }, ...options });
  onCleanup(() => context.close().catch(() => undefined));
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  await page.goto(url);
  return { page, faults };
}

/** One browser for all tests of a file. */
function launched(): Promise<Browser> {
  if (browser === undefined) {
    browser = chromium.launch({
      executablePath: chromiumPath(),
      // The pages come from this machine only; a container of CI runs as root, where the sandbox cannot start.
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    });
    const opened = browser;
    onCleanup(async () => (await opened).close());
  }
  return browser;
}

function chromiumPath(): string {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    try {
      return execFileSync('which', [name], { encoding: 'utf8' }).trim();
    } catch {
      // the next name
    }
  }
  throw new Error('No Chromium is on the PATH. On Debian: apt-get install -y --no-install-recommends chromium');
}
