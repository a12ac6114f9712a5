import { LeaseLostError, LockUnavailableError } from 'nestjs-distribute-lock/core';

import { failure } from './failures.js';
import type { Messages } from './messages.js';
import { EXIT_CODES } from './table.js';

describe('The exit code of an error', () => {
  const said: string[] = [];
  const messages = { say: (_: unknown, text: string) => said.push(text) } as unknown as Messages;
  const codeOf = (error: unknown): number => {
    said.length = 0;
    const code = failure(error, messages);
    expect(said).toHaveLength(1);
    return code;
  };

  it('is that of a lost lock, also before the command has begun', () => {
    const lost = new LeaseLostError('gone', { key: 'k', fencingToken: 1, reason: 'deleted' });
    expect(codeOf(lost)).toBe(EXIT_CODES.lost.code);
  });

  it('is that of an unavailable store', () => {
    expect(codeOf(new LockUnavailableError('away', { key: 'k' }))).toBe(EXIT_CODES.unavailable.code);
  });

  it('is thrown again when it says nothing about a lock', () => {
    expect(() => failure(new TypeError('a defect'), messages)).toThrow('a defect');
  });
});
