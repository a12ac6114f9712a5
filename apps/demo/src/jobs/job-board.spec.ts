import { EMPTY_BOARD, type JobReport, withReport } from './job-board.js';

const after = (...reports: JobReport[]) => reports.reduce(withReport, EMPTY_BOARD);

describe('the board of the jobs', () => {
  it('names the instance that leads', () => {
    expect(after({ type: 'leads', instance: 'A' }).leader).toBe('A');
    expect(after({ type: 'leads', instance: 'A' }, { type: 'leads-no-more', instance: 'A' }).leader).toBeNull();
  });

  it('keeps the next leader when the earlier one reports its end late', () => {
    const reports = [
      { type: 'leads', instance: 'A' },
      { type: 'leads', instance: 'B' },
      { type: 'leads-no-more', instance: 'A' },
    ] as const;
    expect(after(...reports).leader).toBe('B');
  });

  it('keeps the latest ticks, the newest first', () => {
    const ticks = Array.from({ length: 20 }, (_, i) => ({ type: 'tick', at: `tick ${i}`, instance: 'A' }) as const);
    const { ticks: kept } = after(...ticks);
    expect(kept).toHaveLength(8);
    expect(kept[0]).toEqual({ at: 'tick 19', instance: 'A' });
  });
});
