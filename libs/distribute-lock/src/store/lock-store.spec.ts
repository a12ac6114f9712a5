import { isPassing, LockStoreError } from './lock-store.js';

describe('isPassing', () => {
  it('returns the field passing of a LockStoreError', () => {
    expect(isPassing(new LockStoreError('gone', true))).toBe(true);
    expect(isPassing(new LockStoreError('refused', false))).toBe(false);
  });

  it('recognizes the LockStoreError of another copy of the package', () => {
    class LockStoreErrorOfAnotherCopy extends Error {
      override readonly name = 'LockStoreError';
      readonly passing = true;
    }

    expect(isPassing(new LockStoreErrorOfAnotherCopy('gone'))).toBe(true);
  });

  it('returns false for any other error', () => {
    expect(isPassing(Object.assign(new Error('a fault'), { passing: true }))).toBe(false);
    expect(isPassing(undefined)).toBe(false);
  });
});
