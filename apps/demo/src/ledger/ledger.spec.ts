import { Ledger } from './ledger.js';
import { StaleFencingTokenException } from './stale-fencing-token.exception.js';

describe('Ledger', () => {
  it('accepts rising tokens, and several writes of one holder', () => {
    const ledger = new Ledger();

    ledger.add(1, 10);
    ledger.add(1, 10);

    expect(ledger.add(1, 11)).toBe(3);
  });

  it('refuses a holder after a later one has written, and keeps the balance', () => {
    const ledger = new Ledger();
    ledger.add(5, 11);

    expect(() => ledger.add(5, 10)).toThrow(StaleFencingTokenException);
    expect(ledger.add(0, 11)).toBe(5);
  });
});
