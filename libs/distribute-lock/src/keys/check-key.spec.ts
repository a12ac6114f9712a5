import { isLockError } from '../errors.js';
import { checkKey, keyFault, MAX_KEY_BYTES } from './check-key.js';

describe('checkKey', () => {
  it.each(['a', ' ', '\0', 'a\r\nb', '{}', '*', '__proto__', 'é', 'e\u0301', '🔒'])('accepts %j', (key) => {
    expect(() => checkKey(key, 'LockService.acquire')).not.toThrow();
  });

  it.each([[''], [undefined], [null], [42], [10n], [true], [{}], [['a']], [Symbol('a')], [() => 'a']])(
    'rejects %p with the source "code"',
    (key) => {
      expect(() => checkKey(key, 'LockService.acquire')).toThrow(
        expect.objectContaining({ code: 'LOCK_KEY', source: 'code', method: 'LockService.acquire' }),
      );
    },
  );

  it('counts bytes, not characters', () => {
    expect(keyFault('a'.repeat(MAX_KEY_BYTES))).toBeUndefined();
    expect(keyFault('a'.repeat(MAX_KEY_BYTES + 1))).toContain('longer than 1024 bytes');
    expect(keyFault('é'.repeat(MAX_KEY_BYTES / 2))).toBeUndefined();
    expect(keyFault('é'.repeat(MAX_KEY_BYTES / 2 + 1))).toContain('longer than 1024 bytes');
    expect(keyFault('好'.repeat(342))).toContain('longer than 1024 bytes');
  });

  it('rejects a lone surrogate, because all lone surrogates have the same bytes in Redis', () => {
    expect(Buffer.from('\ud800').equals(Buffer.from('\udfff'))).toBe(true);
    expect(keyFault('order:\ud800')).toContain('surrogate');
    expect(keyFault('order:\ud83d\udd12')).toBeUndefined();
  });

  it('stores the key in a hidden property, not in the message', () => {
    const key = `secret-${'x'.repeat(MAX_KEY_BYTES)}`;
    try {
      checkKey(key, 'LockService.withLock');
      throw new Error('not refused');
    } catch (error) {
      if (!isLockError(error, 'LOCK_KEY')) throw error;
      expect(error.message).not.toContain('secret');
      expect(error.key).toBe(key);
      expect(Object.keys(error)).not.toContain('key');
    }
  });
});
