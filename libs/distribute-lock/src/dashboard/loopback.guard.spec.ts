import type { ExecutionContext } from '@nestjs/common';

import { LoopbackGuard } from './loopback.guard.js';

const allows = (remoteAddress: string, headers: object): boolean => {
  const request = { socket: { remoteAddress }, headers };
  const context = { switchToHttp: () => ({ getRequest: () => request }) } as unknown as ExecutionContext;
  return new LoopbackGuard().canActivate(context);
};

describe('LoopbackGuard', () => {
  it.each([
    ['127.0.0.1', 'localhost:3000'],
    ['::1', '[::1]:3000'],
    ['::ffff:127.0.0.1', '127.0.0.1:3000'],
  ])('allows %s with host %s', (address, host) => expect(allows(address, { host })).toBe(true));

  it.each([
    ['another machine', '192.168.0.7', { host: 'localhost:3000' }],
    ['a site whose name leads to this machine', '127.0.0.1', { host: 'evil.example:3000' }],
    ['a request without a host', '127.0.0.1', {}],
    ['a proxy on this machine', '127.0.0.1', { host: 'localhost', 'x-forwarded-for': '10.0.0.1' }],
    ['a proxy that names itself', '127.0.0.1', { host: 'localhost', via: '1.1 proxy' }],
  ])('refuses %s', (_what, address, headers) => expect(allows(address, headers)).toBe(false));
});
