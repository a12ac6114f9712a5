import { LOST, RENEWED } from './protocol/reply-codes.js';
import { RELEASE, RENEW } from './rule-commands.js';

const renewal = { key: 'k', ownerToken: 'p:1', ttlMs: 1_000 };

describe('A renewal that may have been sent on two connections', () => {
  it.each(['exclusive', 'read', 'semaphore'] as const)('has no answer if it may shorten the lease: %s', (kind) => {
    const exact = { ...renewal, kind, exact: true };
    expect(RENEW.meaning(exact, RENEWED, 0, 0, false)).toBe(0);
    expect(RENEW.meaning(exact, RENEWED, 0, 0, true)).toBeInstanceOf(Error);
    expect(RENEW.meaning({ ...exact, exact: false }, RENEWED, 0, 0, true)).toBe(0);
  });

  it('reports a loss, and refuses a reply without a count', () => {
    const exact = { ...renewal, exact: true };
    expect(RENEW.meaning(exact, LOST, 0, 0, true)).toBe('lost');
    expect(RENEW.meaning(exact, RENEWED, 'many', 0, true)).toBeUndefined();
  });
});

describe('A release to the own process', () => {
  const release = { key: 'k', ownerToken: 'p:1', grantOwn: { ttlMs: 1_000, block: 2 } };

  it('names no attempt', () => expect(RELEASE.text(release, 5)).toBe('r p:1 - 1000 2 5'));

  it('is not possible with permits, which only a named attempt gets', () =>
    expect(RELEASE.text({ ...release, kind: 'semaphore' }, 5)).toBe('d p:1'));
});
