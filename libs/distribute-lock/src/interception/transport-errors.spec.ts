import { type ExecutionContext, HttpException, Logger } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { HttpAdapterHost } from '@nestjs/core';

import { LeaseLostError } from '../errors/lease-lost.error.js';
import { LockAbortedError } from '../errors/lock-aborted.error.js';
import { LockContendedError } from '../errors/lock-contended.error.js';
import { LockKeyError } from '../errors/lock-key.error.js';
import { LockShutdownError } from '../errors/lock-shutdown.error.js';
import { LockUnavailableError } from '../errors/lock-unavailable.error.js';
import { LockWaitTimeoutError } from '../errors/lock-wait-timeout.error.js';
import { findRoot, type RequestRoot } from '../keys/key-roots.js';
import { LockConnections } from './lock-connections.js';
import { answerWith, TransportErrors } from './transport-errors.js';

const contended = () =>
  new LockContendedError('The lock "a:#{arg0}" is held.', { key: 'a:secret', retryAfterMs: 1234 });

function setUp({ sent = false, type = 'http' } = {}) {
  const headers = new Map<string, string>();
  const httpAdapter = {
    isHeadersSent: () => sent,
    setHeader: (_response: unknown, name: string, value: string) => headers.set(name, value),
  };
  const host = { httpAdapter } as unknown as HttpAdapterHost;
  const context = { getType: () => type, switchToHttp: () => ({ getResponse: () => ({}) }) };
  const errors = new TransportErrors(new LockConnections(new Map(), 409), host);
  return { headers, map: (error: unknown) => errors.map(error, context as unknown as ExecutionContext) };
}

beforeAll(() => Logger.overrideLogger(false));

describe('TransportErrors over HTTP', () => {
  it.each([
    [contended(), 409, '2'],
    [new LockWaitTimeoutError('m', { waitedMs: 5, retryAfterMs: 1 }), 409, '1'],
    [new LockContendedError('m', { retryAfterMs: 0 }), 409, '1'],
    [new LockContendedError('m', { retryAfterMs: Infinity }), 409, '1'],
    [new LockUnavailableError('m', { retryAfterMs: 2000 }), 503, '2'],
    [new LockShutdownError('m'), 503, '1'],
    [new LockKeyError('m', { method: 'A.b', source: 'request' }), 400, undefined],
    [new LockKeyError('m', { method: 'A.b', source: 'code' }), 500, undefined],
    [new LockAbortedError('m'), 500, undefined],
    [new LeaseLostError('m', { fencingToken: 1 }), 500, undefined],
  ])('answers %p with %p', (error, status, retryAfter) => {
    const { map, headers } = setUp();
    const mapped = map(error) as HttpException;
    expect(mapped).toBeInstanceOf(HttpException);
    expect(mapped.getStatus()).toBe(status);
    expect(mapped.getResponse()).toMatchObject({ statusCode: status, code: error.code });
    expect(mapped.cause).toBe(error);
    expect(headers.get('Retry-After')).toBe(retryAfter);
  });

  it('never shows the key', () => {
    const mapped = setUp().map(contended()) as HttpException;
    expect(JSON.stringify(mapped.getResponse())).not.toContain('secret');
    expect(mapped.getResponse()).toEqual({
      statusCode: 409,
      code: 'LOCK_CONTENDED',
      message: 'The lock "a:#{arg0}" is held.',
      retryAfterMs: 1234,
    });
  });

  it('sets no header when they are on their way already', () => {
    const { map, headers } = setUp({ sent: true });
    expect((map(contended()) as HttpException).getStatus()).toBe(409);
    expect(headers.size).toBe(0);
  });

  it('uses the status that was chosen for this very error', () => {
    const error = contended();
    answerWith(error, 423);
    const { map } = setUp();
    expect((map(error) as HttpException).getStatus()).toBe(423);
    expect((map(contended()) as HttpException).getStatus()).toBe(409);
  });

  it('leaves all other errors alone', () => {
    const error = new HttpException('mine', 418);
    expect(setUp().map(error)).toBe(error);
    expect(setUp().map('text')).toBe('text');
    expect(setUp({ type: 'telegram' }).map(error)).toBe(error);
  });
});

describe('TransportErrors elsewhere', () => {
  it('gives GraphQL the payload of HTTP, without touching a response', () => {
    const { map, headers } = setUp({ type: 'graphql' });
    expect((map(contended()) as HttpException).getResponse()).toMatchObject({
      code: 'LOCK_CONTENDED',
      retryAfterMs: 1234,
    });
    expect(headers.size).toBe(0);
  });

  it.each(['rpc', 'ws'])('leaves the error as it is where the package of %s is not installed', async (type) => {
    const error = contended();
    expect(await setUp({ type }).map(error)).toBe(error);
  });

  it('leaves the error as it is on transports that it does not know', () => {
    const error = contended();
    expect(setUp({ type: 'telegram' }).map(error)).toBe(error);
  });
});

describe('what we know of the insides of Nest', () => {
  it('has not moved', () => {
    expect(ROUTE_ARGS_METADATA).toBe('__routeArguments__');
    const kinds: Record<string, RouteParamtypes> = {
      body: RouteParamtypes.BODY,
      query: RouteParamtypes.QUERY,
      params: RouteParamtypes.PARAM,
      headers: RouteParamtypes.HEADERS,
      ip: RouteParamtypes.IP,
    };
    for (const [root, kind] of Object.entries(kinds)) {
      const bound = [{ kind, index: 7, property: undefined }];
      expect(findRoot([root as RequestRoot], root, bound).argument).toBe(7);
    }
  });
});
