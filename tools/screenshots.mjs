#!/usr/bin/env node
/**
 * `npm run screenshots`: starts the demo and writes the pictures of the README and the docs into docs/images. It needs Chromium and
 * the programs cwebp and img2webp (Debian packages chromium and webp).
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IMAGES = join(ROOT, 'docs/images');
/** What the repository may keep. */
const MOST_BYTES = 200_000;
const FRAMES = 30;
const FRAME_MS = 400;
/** The timeline with one lock, and the marks of refused calls. */
const ANIMATED_HEIGHT = 256;
const HEADERS = { 'content-type': 'application/json', 'x-requested-by': 'demo-page' };

const folder = mkdtempSync(join(tmpdir(), 'screenshots-'));
const demo = spawn(process.execPath, [join(ROOT, 'apps/demo/dist/start.js')], {
  env: { ...process.env, PORT: '0', REDIS_URL: '' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const url = await firstUrl();
  const browser = await chromium.launch({ executablePath: which('chromium'), args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 1120, height: 820 } });
  await page.goto(url);
  await page.locator('.lk-instances li').nth(1).waitFor();
  await scenario(url);
  mkdirSync(IMAGES, { recursive: true });
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    const png = join(folder, `${colorScheme}.png`);
    await page.screenshot({ path: png, fullPage: true });
    execFileSync('cwebp', ['-quiet', '-q', '72', png, '-o', join(IMAGES, `page-${colorScheme}.webp`)]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await animate(page, url);
  await browser.close();
} finally {
  demo.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}

const sizes = ['page-light', 'page-dark', 'page'].map((name) => statSync(join(IMAGES, `${name}.webp`)).size);
const bytes = sizes.reduce((sum, size) => sum + size, 0);
console.log(`screenshots: ${bytes} bytes in docs/images`);
if (bytes > MOST_BYTES) {
  console.error(`screenshots: at most ${MOST_BYTES} bytes are allowed`);
  process.exitCode = 1;
}

/** Both instances wait for one lock, then all but one call are refused, then work without a lock overlaps. */
async function scenario(url) {
  void send(url, 'wait', ['A', 'B'], 2, 2_500);
  await pause(11_500);
  void send(url, 'unlocked', ['A', 'B'], 2, 3_000);
  await pause(1_500);
  void send(url, 'exclusive', ['A', 'B'], 5, 2_500);
  await pause(5_500);
  void send(url, 'wait', ['A', 'B'], 2, 3_000);
  await pause(4_500);
}

async function animate(page, url) {
  // A new page begins without the bars of before.
  await pause(9_000);
  await page.reload();
  await page.locator('.lk-instances li').nth(1).waitFor();
  void send(url, 'wait', ['A', 'B'], 2, 2_000);
  await page.locator('.lk-wait-text').nth(1).waitFor();
  const { x, y, width } = await page.locator('.lk-panel:has(.lk-lanes)').boundingBox();
  const clip = { x, y, width, height: ANIMATED_HEIGHT };
  const frames = [];
  for (let i = 0; i < FRAMES; i++) {
    if (i === 21) void send(url, 'exclusive', ['A', 'B'], 3, 1_500);
    const [started, path] = [performance.now(), join(folder, `frame-${i}.png`)];
    await page.screenshot({ path, clip });
    frames.push('-d', String(FRAME_MS), '-lossy', '-q', '30', path);
    await pause(Math.max(0, FRAME_MS - (performance.now() - started)));
  }
  execFileSync('img2webp', ['-loop', '0', ...frames, '-o', join(IMAGES, 'page.webp')], { stdio: 'ignore' });
}

async function send(url, kind, to, count, workMs) {
  const body = JSON.stringify({ kind, to, count, workMs });
  await fetch(`${url}/controls/send`, { method: 'POST', headers: HEADERS, body }).catch(() => undefined);
}

async function firstUrl() {
  let output = '';
  for await (const chunk of demo.stdout.iterator({ destroyOnReturn: false })) {
    output += chunk;
    if (!output.includes('Ctrl-C ends it')) continue;
    demo.stdout.resume();
    return /instance A: (\S+)/.exec(output)[1];
  }
  throw new Error('The demo did not start: run `npm run build` first.');
}

function which(program) {
  return execFileSync('which', [program], { encoding: 'utf8' }).trim();
}
