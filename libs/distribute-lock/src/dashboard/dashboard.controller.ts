import { Body, Get, Headers, Inject, Ip, Post, Query, Req, Res } from '@nestjs/common';

import { isLockError } from '../errors.js';
import { PAGE_ASSETS } from './assets/generated/page.js';
import { TIMELINE_ASSETS } from './assets/generated/timeline.js';
import type { LockDashboardOptions } from './dashboard-options.js';
import { type AnyRequest, type AnyResponse, EventStream, pathOf, sendJson, sendText } from './http.js';
import { DASHBOARD_OPTIONS, LockDashboard } from './lock-dashboard.js';
import { viewRequest } from './page-view.js';

/** The page loads its assets from this origin only, and runs no inline script or style. */
const CONTENT_SECURITY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

/** Browsers let no other site send this header, so a page elsewhere cannot release locks with the rights of an operator. */
const REQUESTED_BY = 'lock-dashboard';

/** The routes of the page. The module creates a subclass with the path and the guard of the options. */
export class DashboardController {
  constructor(
    @Inject(LockDashboard) private readonly dashboard: LockDashboard,
    @Inject(DASHBOARD_OPTIONS) private readonly options: LockDashboardOptions,
  ) {}

  @Get()
  page(@Req() request: AnyRequest, @Res() response: AnyResponse): void {
    const path = pathOf(request);
    // Relative to the address of the page, so it works below a prefix and behind a proxy.
    const base = path.endsWith('/') ? '.' : path.slice(path.lastIndexOf('/') + 1);
    const html = PAGE_ASSETS['page.html'].replaceAll('BASE', base);
    sendText(response, html, { type: 'text/html', headers: { 'content-security-policy': CONTENT_SECURITY } });
  }

  @Get('page.css')
  style(@Res() response: AnyResponse): void {
    sendText(response, PAGE_ASSETS['page.css'], { type: 'text/css' });
  }

  @Get('page.js')
  script(@Res() response: AnyResponse): void {
    sendText(response, PAGE_ASSETS['page.js'], { type: 'text/javascript' });
  }

  @Get('dom.js')
  dom(@Res() response: AnyResponse): void {
    sendText(response, TIMELINE_ASSETS['dom.js'], { type: 'text/javascript' });
  }

  @Get('table.js')
  table(@Res() response: AnyResponse): void {
    sendText(response, TIMELINE_ASSETS['table.js'], { type: 'text/javascript' });
  }

  @Get('timeline.js')
  timeline(@Res() response: AnyResponse): void {
    sendText(response, TIMELINE_ASSETS['timeline.js'], { type: 'text/javascript' });
  }

  @Get('shapes.js')
  shapes(@Res() response: AnyResponse): void {
    sendText(response, TIMELINE_ASSETS['shapes.js'], { type: 'text/javascript' });
  }

  @Get('events')
  events(@Query() query: Record<string, unknown>, @Res() response: AnyResponse): void {
    if (!this.dashboard.accepts) {
      sendJson(response, 503, { message: 'Too many pages are open, or this instance is stopping.' });
      return;
    }
    const stream = new EventStream(response);
    stream.onClose(this.dashboard.open(viewRequest(query), stream));
  }

  @Post('release')
  async release(
    @Body() body: { readonly id?: unknown } | undefined,
    @Headers('x-requested-by') requestedBy: string | undefined,
    @Ip() ip: string,
    @Req() request: object,
    @Res() response: AnyResponse,
  ): Promise<void> {
    if (this.options.allowForceRelease !== true) {
      return sendJson(response, 403, {
        message: 'The page may not release locks: option "allowForceRelease" is false.',
      });
    }
    if (requestedBy !== REQUESTED_BY) {
      return sendJson(response, 403, {
        message: `Only the page may release locks: "x-requested-by" is not "${REQUESTED_BY}".`,
      });
    }
    const id = body?.id;
    if (typeof id !== 'string')
      return sendJson(response, 400, { message: '"id" must be the id of a lock of the page.' });
    try {
      const result = await this.dashboard.forceRelease(id, userOf(request) + ip);
      sendJson(response, result === 'unknown' ? 404 : 200, { result });
    } catch (error) {
      if (!isLockError(error)) throw error;
      sendJson(response, 503, {
        message: 'The store of the locks did not answer; the lock was not released.',
        code: error.code,
      });
    }
  }
}

/** The user that the guard has set on the request, for the log. */
function userOf(request: { readonly user?: unknown }): string {
  const { user } = request;
  const facts = typeof user === 'object' && user !== null ? (user as Record<string, unknown>) : { id: user };
  const name = ['username', 'name', 'email', 'id', 'sub']
    .map((field) => facts[field])
    .find((value) => typeof value === 'string' || typeof value === 'number');
  return name === undefined ? '' : `${JSON.stringify(String(name).slice(0, 100))} at `;
}
