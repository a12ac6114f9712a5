import { LockUnavailableError } from 'nestjs-distribute-lock';

import { SettingError } from './setting-error.js';
import { startFailure } from './start-failure.js';

describe('startFailure', () => {
  it('names the port that is in use', () => {
    const error = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });

    expect(startFailure(error, { PORT: '3001' })).toBe(
      'Cannot listen on port 3001 of 127.0.0.1: it is already in use. Set PORT or HOST to something else.',
    );
  });

  it('refers to REDIS_URL when the locks have no Redis', () => {
    const message = startFailure(new LockUnavailableError('Redis does not answer.'), {});

    expect(message).toContain('Redis does not answer.');
    expect(message).toContain('REDIS_URL');
  });

  it('shows no stack for a mistake of the user', () => {
    expect(startFailure(new SettingError('PORT is wrong.'), {})).toBe('PORT is wrong.');
  });

  it('shows the stack for a fault of the demo', () => {
    expect(startFailure(new TypeError('oops'), {})).toMatch(/oops\n\s+at /);
  });
});
