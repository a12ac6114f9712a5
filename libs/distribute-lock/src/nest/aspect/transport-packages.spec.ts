import { jest } from '@jest/globals';
import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';

/** Replaces the exceptions of both packages. */
class PayloadException extends Error {
  constructor(readonly payload: unknown) {
    super('of the transport');
  }
}

const load = jest.fn(() => ({ RpcException: PayloadException }));
jest.unstable_mockModule('@nestjs/microservices', load);
jest.unstable_mockModule('@nestjs/websockets', () => ({ WsException: PayloadException }));

const { LockContendedError } = await import('../../errors.js');
const { LockConnections } = await import('./lock-connections.js');
const { TransportErrors } = await import('./transport-errors.js');

describe('TransportErrors', () => {
  const errors = new TransportErrors(
    new LockConnections(new Map(), { contendedStatus: 409, abortOnDisconnect: true, errors: {}, presets: new Map() }),
    {} as HttpAdapterHost,
  );
  const over = (type: string) => ({ getType: () => type, getHandler: () => null }) as unknown as ExecutionContext;

  it('loads the package of a transport on its first error', async () => {
    expect(load).not.toHaveBeenCalled();
    const error = new LockContendedError('The lock "a" is held.', { key: 'secret', retryAfterMs: 10 });
    for (const type of ['rpc', 'ws']) {
      const mapped = (await errors.map(error, over(type))) as PayloadException;
      expect(mapped).toBeInstanceOf(PayloadException);
      expect(mapped.payload).toEqual({ code: 'LOCK_CONTENDED', message: expect.any(String), retryAfterMs: 10 });
      expect(mapped.cause).toBe(error);
    }
    expect(load).toHaveBeenCalledTimes(1);
  });
});
