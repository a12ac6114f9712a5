import { isPassing, LockStoreError } from './lock-store.js';

describe('a failure of the store', () => {
  it('passes as its error says', () => {
    expect(isPassing(new LockStoreError('gone', true))).toBe(true);
    expect(isPassing(new LockStoreError('refused', false))).toBe(false);
  });

  it('is understood when the store comes from another copy of the package', () => {
    class LockStoreErrorOfAnotherCopy extends Error {
      override readonly name = 'LockStoreError';
      readonly passing = true;
    }

    expect(isPassing(new LockStoreErrorOfAnotherCopy('gone'))).toBe(true);
  });

  it('does not pass when it is any other error', () => {
    expect(isPassing(Object.assign(new Error('a fault'), { passing: true }))).toBe(false);
    expect(isPassing(undefined)).toBe(false);
  });
});
