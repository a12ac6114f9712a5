import { jest } from '@jest/globals';
import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';

const missing = () => {
  throw new Error('Cannot find package');
};
jest.unstable_mockModule('@nestjs/microservices', missing);
jest.unstable_mockModule('@nestjs/websockets', missing);

const { LockContendedError } = await import('../../errors.js');
const { LockConnections } = await import('./lock-connections.js');
const { TransportErrors } = await import('./transport-errors.js');

describe('TransportErrors', () => {
  it.each(['rpc', 'ws'])('does not change the error if the package of %s is not installed', async (type) => {
    const errors = new TransportErrors(
      new LockConnections(new Map(), { contendedStatus: 409, abortOnDisconnect: true, errors: {}, presets: new Map() }),
      {} as HttpAdapterHost,
    );
    const error = new LockContendedError('The lock "a" is held.', { retryAfterMs: 10 });
    const context = { getType: () => type, getHandler: () => null };
    expect(await errors.map(error, context as unknown as ExecutionContext)).toBe(error);
  });
});
