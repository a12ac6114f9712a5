import { LockUnavailableError } from 'nestjs-distribute-lock';

import { SettingError } from './setting-error.js';
import { startFailure } from './start-failure.js';

describe('startFailure', () => {
  it('says where the port is taken', () => {
    const error = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });

    expect(startFailure(error, { PORT: '3001' })).toBe(
      'Cannot listen on port 3001 of 127.0.0.1: it is already in use. Set PORT or HOST to something else.',
    );
  });

  it('points to REDIS_URL when the locks have no Redis', () => {
    const message = startFailure(new LockUnavailableError('Redis does not answer.'), {});

    expect(message).toContain('Redis does not answer.');
    expect(message).toContain('REDIS_URL');
  });

  it('shows no stack where the reader has made the mistake', () => {
    expect(startFailure(new SettingError('PORT is wrong.'), {})).toBe('PORT is wrong.');
  });

  it('shows the stack where the demo has made it', () => {
    expect(startFailure(new TypeError('oops'), {})).toMatch(/oops\n\s+at /);
  });
});
