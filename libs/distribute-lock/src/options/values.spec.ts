import { duration } from './values.js';

describe('duration', () => {
  it.each([
    ['10s', 10_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
    ['2 m', 120_000],
    ['1w', 604_800_000],
    ['0s', 0],
  ])('converts %j to %i ms', (text, ms) => {
    expect(duration(text)).toBe(ms);
  });

  it.each(['10', '', 'soon', '1 fortnight', '-1s', '1.0001ms', '25d', undefined, null, 10, {}])(
    'rejects %j',
    (text) => {
      expect(() => duration(text as string)).toThrow(
        expect.objectContaining({
          code: 'LOCK_CONFIGURATION',
          message: expect.stringMatching(/^The duration is .*, but it must be whole milliseconds from 0 to/) as string,
        }),
      );
    },
  );
});
