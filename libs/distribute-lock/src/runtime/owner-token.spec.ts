import {
  channelIdOf,
  permitsOfToken,
  newProcessId,
  OwnerTokens,
  permitsSuffix,
  processOf,
  weightOf,
} from './owner-token.js';

describe('A process id', () => {
  it('consists of a channel id and a secret of 64 random bits each, in 22 characters', () => {
    const id = newProcessId();
    expect(id).toMatch(/^[\w-]{22}$/);
    expect(channelIdOf(id)).toBe(id.slice(0, 11));
    expect(new Set(Array.from({ length: 100 }, () => newProcessId().slice(0, 11))).size).toBe(100);
    expect(new Set(Array.from({ length: 100 }, () => newProcessId().slice(11))).size).toBe(100);
  });
});

describe('OwnerTokens.issued', () => {
  const tokens = new OwnerTokens();
  const { processId } = tokens;
  const issued = [tokens.next(), tokens.next(':r'), tokens.next(permitsSuffix(1_024, 12))];

  it('accepts every token that it has issued', () => {
    expect(issued.map((token) => tokens.issued(token))).toEqual([true, true, true]);
    expect(issued.map(processOf)).toEqual([processId, processId, processId]);
  });

  it('names the weight and the permits of a semaphore token', () => {
    expect([weightOf(issued[2]), permitsOfToken(issued[2])]).toEqual([12, 1_024]);
  });

  it.each([
    ['a later sequence', `${processId}:4`],
    ['sequence 0', `${processId}:0`],
    ['no sequence', `${processId}:`],
    ['the process id alone', processId],
    ['a sequence in capitals', `${processId}:A`],
    ['another form', `${processId}:1:2:3`],
    ['permits without a weight', `${processId}:1P2`],
    ['another secret', `${channelIdOf(processId)}${'x'.repeat(11)}:1`],
    ['the channel id alone', `${channelIdOf(processId)}:1`],
    ['no token', 'readers'],
    ['an empty text', ''],
  ])('refuses %s', (_, token) => {
    expect(tokens.issued(token)).toBe(false);
  });
});
