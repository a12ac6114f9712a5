import { jest } from '@jest/globals';
import { type ExecutionContext, HttpException, Logger } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { HttpAdapterHost } from '@nestjs/core';

import {
  LeaseLostError,
  LockAbortedError,
  LockContendedError,
  LockKeyError,
  LockShutdownError,
  LockUnavailableError,
  LockWaitTimeoutError,
} from '../../errors.js';
import { findRoot, type RequestRoot } from '../../keys/key-roots.js';
import type { LockErrorMappers } from './error-mapping.js';
import { LockConnections } from './lock-connections.js';
import { setContendedStatus, TransportErrors } from './transport-errors.js';

const contended = () =>
  new LockContendedError('The lock "a:#{arg0}" is held.', { key: 'a:secret', retryAfterMs: 1234 });

interface Circumstances {
  readonly sent?: boolean;
  readonly response?: unknown;
  readonly adapter?: object | null;
  readonly type?: string;
  readonly own?: LockErrorMappers;
}

function setUp(circumstances: Circumstances = {}) {
  const { sent = false, type = 'http', own = {} } = circumstances;
  const headers = new Map<string, string>();
  const httpAdapter = {
    // Reads the response, like the adapters of Nest.
    isHeadersSent: (response: object) => (Object.keys(response).length === 0 ? sent : undefined),
    setHeader: (_response: unknown, name: string, value: string) => headers.set(name, value),
  };
  const host = { httpAdapter, ...('adapter' in circumstances && { httpAdapter: circumstances.adapter }) };
  const response = 'response' in circumstances ? circumstances.response : {};
  const context = {
    getType: () => type,
    getHandler: () => null,
    switchToHttp: () => ({ getResponse: () => response }),
  };
  const errors = new TransportErrors(
    new LockConnections(new Map(), { contendedStatus: 409, abortOnDisconnect: true, errors: own, presets: new Map() }),
    host as unknown as HttpAdapterHost,
  );
  return { headers, map: (error: unknown) => errors.map(error, context as unknown as ExecutionContext) };
}

beforeAll(() => Logger.overrideLogger(false));

describe('TransportErrors over HTTP', () => {
  it.each([
    ['on Express', { destroyed: true, writableFinished: false }, 499],
    ['on Fastify', { raw: { destroyed: true, writableFinished: false } }, 499],
    ['with HTTP/2', { raw: { stream: { destroyed: true }, writableEnded: false, writableFinished: true } }, 499],
    ['that was answered', { destroyed: true, writableFinished: true }, 503],
  ])('maps an aborted wait to 499 only if the connection was closed: %s', (_, response, status) => {
    const mapped = setUp({ response }).map(new LockAbortedError('m')) as HttpException;
    expect(mapped.getStatus()).toBe(status);
    expect(mapped.getResponse()).toMatchObject({ code: 'LOCK_ABORTED' });
  });

  it.each([
    [contended(), 409, '2'],
    [new LockWaitTimeoutError('m', { waitedMs: 5, retryAfterMs: 1 }), 409, '1'],
    [new LockContendedError('m', { retryAfterMs: 0 }), 409, '1'],
    [new LockContendedError('m', { retryAfterMs: Infinity }), 409, '1'],
    [new LockUnavailableError('m', { retryAfterMs: 2000 }), 503, '2'],
    [new LockShutdownError('m'), 503, '1'],
    [new LockKeyError('m', { method: 'A.b', source: 'request' }), 400, undefined],
    [new LockKeyError('m', { method: 'A.b', source: 'code' }), 500, undefined],
    [new LockAbortedError('m'), 503, undefined],
    [new LeaseLostError('m', { fencingToken: 1, reason: 'outage' }), 500, undefined],
  ])('maps %p to %p', (error, status, retryAfter) => {
    const { map, headers } = setUp();
    const mapped = map(error) as HttpException;
    expect(mapped).toBeInstanceOf(HttpException);
    expect(mapped.getStatus()).toBe(status);
    expect(mapped.getResponse()).toMatchObject({ statusCode: status, code: error.code });
    expect(mapped.cause).toBe(error);
    expect(headers.get('Retry-After')).toBe(retryAfter);
  });

  it('never exposes the key, the method, or advice for developers', () => {
    const mapped = setUp().map(contended()) as HttpException;
    expect(JSON.stringify(mapped.getResponse())).not.toContain('secret');
    expect(mapped.getResponse()).toEqual({
      statusCode: 409,
      code: 'LOCK_CONTENDED',
      message: 'Another request is in progress; try again later.',
      retryAfterMs: 1234,
    });
  });

  it('names a missing value of the request, and no value of the code', () => {
    const details = { method: 'Orders.open', path: 'body.channel' };
    const text = 'Orders.open has no channel';
    const ofRequest = setUp().map(new LockKeyError(text, { ...details, source: 'request' })) as HttpException;
    expect(ofRequest.getResponse()).toEqual({
      statusCode: 400,
      code: 'LOCK_KEY',
      message: 'A value of the request is missing or invalid: body.channel',
    });
    const ofCode = setUp().map(new LockKeyError(text, { ...details, source: 'code' })) as HttpException;
    expect(ofCode.getResponse()).toEqual({ statusCode: 500, code: 'LOCK_KEY', message: 'Internal server error' });
  });

  it('logs no error for a client that disconnected', () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    setUp().map(new LockAbortedError('left'));
    expect(logged).not.toHaveBeenCalled();
    setUp().map(new LeaseLostError('lost', { fencingToken: 1, reason: 'outage' }));
    expect(logged).toHaveBeenCalledTimes(1);
    logged.mockRestore();
  });

  it.each(['http', 'graphql', 'rpc', 'ws', 'telegram'])('throws a custom exception over %s', (type) => {
    const mine = new Error('mine');
    const { map } = setUp({ type, own: { LOCK_CONTENDED: (error) => Object.assign(mine, { cause: error }) } });
    const error = contended();
    expect(map(error)).toBe(mine);
    expect(mine.cause).toBe(error);
  });

  it('accepts a custom exception that is thrown instead of returned', () => {
    const mine = new Error('mine');
    const throwing = (): never => {
      throw mine;
    };
    expect(setUp({ own: { LOCK_CONTENDED: throwing } }).map(contended())).toBe(mine);
    expect(setUp({ own: { LOCK_SHUTDOWN: throwing } }).map(contended())).toBeInstanceOf(HttpException);
  });

  it('accepts a promise of a custom exception or of undefined', async () => {
    const mine = new Error('mine');
    expect(await setUp({ own: { LOCK_CONTENDED: async () => mine } }).map(contended())).toBe(mine);
    expect(await setUp({ own: { LOCK_CONTENDED: () => Promise.reject(mine) } }).map(contended())).toBe(mine);
    const nothing = await setUp({ own: { LOCK_CONTENDED: async () => undefined } }).map(contended());
    expect((nothing as HttpException).getStatus()).toBe(409);
  });

  it.each([
    ['response', { response: undefined }],
    ['response but an argument of the call', { response: null }],
    ['response but another argument of the call', { response: 'text' }],
    ['response but an object among the arguments', { response: { of: 'the call' } }],
    ['HTTP server', { adapter: null }],
  ])('sets no header without %s', (_name, circumstances) => {
    const { map, headers } = setUp(circumstances);
    expect((map(contended()) as HttpException).getStatus()).toBe(409);
    expect(headers.size).toBe(0);
  });

  it('sets no header after the headers have been sent', () => {
    const { map, headers } = setUp({ sent: true });
    expect((map(contended()) as HttpException).getStatus()).toBe(409);
    expect(headers.size).toBe(0);
  });

  it('sets the header for an exception with a lock error as its cause', () => {
    const { map, headers } = setUp();
    const mine = new HttpException('mine', 503, { cause: contended() });
    expect(map(mine)).toBe(mine);
    expect(headers.get('Retry-After')).toBe('2');
  });

  it('uses the status that was set for this error', () => {
    const error = contended();
    setContendedStatus(error, 423);
    const { map } = setUp();
    expect((map(error) as HttpException).getStatus()).toBe(423);
    expect((map(contended()) as HttpException).getStatus()).toBe(409);
  });

  it('does not change other errors', () => {
    const error = new HttpException('mine', 418);
    expect(setUp().map(error)).toBe(error);
    expect(setUp().map('text')).toBe('text');
    expect(setUp({ type: 'telegram' }).map(error)).toBe(error);
  });
});

describe('TransportErrors over other transports', () => {
  it('maps to the payload of HTTP over GraphQL, without a response', () => {
    const { map, headers } = setUp({ type: 'graphql' });
    expect((map(contended()) as HttpException).getResponse()).toMatchObject({
      code: 'LOCK_CONTENDED',
      retryAfterMs: 1234,
    });
    expect(headers.size).toBe(0);
  });

  it('does not change the error over unknown transports', () => {
    const error = contended();
    expect(setUp({ type: 'telegram' }).map(error)).toBe(error);
  });
});

describe('the internals of Nest that this package uses', () => {
  it('have not changed', () => {
    expect(ROUTE_ARGS_METADATA).toBe('__routeArguments__');
    const kinds: Record<string, RouteParamtypes> = {
      body: RouteParamtypes.BODY,
      query: RouteParamtypes.QUERY,
      params: RouteParamtypes.PARAM,
      headers: RouteParamtypes.HEADERS,
      ip: RouteParamtypes.IP,
    };
    for (const [root, kind] of Object.entries(kinds)) {
      const bound = [{ paramtype: kind, index: 7, property: undefined }];
      expect(findRoot([root as RequestRoot], root, bound).argument).toBe(7);
    }
  });
});
