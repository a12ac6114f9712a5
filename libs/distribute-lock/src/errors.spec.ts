import { inspect } from 'node:util';

import { isLockError, LeaseLostError, LockContendedError, LockUnavailableError } from './errors.js';

describe('LockError', () => {
  const error = new LockContendedError('The lock "pay_#{body.id}" is held.', { key: 'pay_4711', retryAfterMs: 20 });

  it('keeps the rendered key out of messages, JSON and inspect', () => {
    expect(error.key).toBe('pay_4711');
    expect(inspect(error, { depth: null }) + JSON.stringify(error) + String(error)).not.toContain('4711');
    expect(Object.keys(error)).not.toContain('key');
  });

  it('has the name of its class', () => {
    expect(error.name).toBe('LockContendedError');
    expect(String(error)).toBe('LockContendedError: The lock "pay_#{body.id}" is held.');
  });

  it('keeps its cause', () => {
    const cause = new Error('ECONNREFUSED');
    expect(new LockUnavailableError('Redis is down.', { cause }).cause).toBe(cause);
  });

  it('is recognised by its code, also if another copy of the package threw it', () => {
    const foreign = Object.assign(new Error('from another copy'), { code: 'LOCK_CONTENDED' });
    for (const each of [error, foreign]) {
      expect(isLockError(each)).toBe(true);
      expect(isLockError(each, 'LOCK_CONTENDED', 'LEASE_LOST')).toBe(true);
      expect(isLockError(each, 'LEASE_LOST')).toBe(false);
    }
    expect(isLockError(Object.assign(new Error(), { code: 'ECONNREFUSED' }))).toBe(false);
    expect(isLockError({ code: 'LOCK_CONTENDED' })).toBe(false);
    expect(isLockError(undefined)).toBe(false);
    expect(isLockError(new LeaseLostError('lost', { fencingToken: 7, reason: 'outage' }), 'LEASE_LOST')).toBe(true);
  });
});
