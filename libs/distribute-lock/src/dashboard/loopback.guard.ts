import { isIP } from 'node:net';

import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';

import type { AnyRequest } from './http.js';

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;
/** Headers of proxies: behind one, every client seems to be on this machine. */
const PROXIED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'];

/** Allows requests from this machine only; also refuses pages of other sites whose name leads to this machine. */
@Injectable()
export class LoopbackGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return isFromLoopback(context.switchToHttp().getRequest<AnyRequest>());
  }
}

/** Whether a browser or client on this machine sent the request to a loopback name, without a proxy. */
function isFromLoopback({ socket, headers }: AnyRequest): boolean {
  if (!LOOPBACK.test(socket.remoteAddress ?? '')) return false;
  if (PROXIED.some((name) => headers[name] !== undefined)) return false;
  return isLoopbackHost(headers.host ?? '');
}

function isLoopbackHost(host: string): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return name === 'localhost' || (isIP(name) !== 0 && LOOPBACK.test(name));
}
