import { printed, traceOf } from './histories.js';
import { planOf } from './plan-of-seed.js';

/** `SIM_SEED=n` prints the history of that number. */
const SEED = process.env['SIM_SEED'];

describe('A simulated history', () => {
  it('is the same in each repetition', async () => {
    const plan = planOf(Number(SEED ?? 4_711));
    const trace = await traceOf(plan);
    if (SEED !== undefined) process.stdout.write(`${printed(plan)}\n${trace.join('\n')}\n`);

    expect(trace.length).toBeGreaterThan(1);
    expect(await traceOf(planOf(plan.seed))).toEqual(trace);
  });
});
