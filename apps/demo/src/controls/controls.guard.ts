import type { IncomingMessage } from 'node:http';

import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';

import { DemoSettings } from '../settings/demo-settings.js';

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;
const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

/**
 * The controls exist on loopback only: the server listens there, and the request comes from there, from a page of this server. Other
 * sites cannot send the header.
 */
@Injectable()
export class ControlsGuard implements CanActivate {
  constructor(private readonly settings: DemoSettings) {}

  canActivate(context: ExecutionContext): boolean {
    const { socket, headers } = context.switchToHttp().getRequest<IncomingMessage>();
    return (
      LOOPBACK.test(this.settings.host) &&
      LOOPBACK.test(socket.remoteAddress ?? '') &&
      LOOPBACK_HOST.test(headers.host ?? '') &&
      headers['x-requested-by'] === 'demo-page'
    );
  }
}
