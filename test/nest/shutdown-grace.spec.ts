import { grace } from '../consumers/shared/grace.js';

describe('A shutdown that a hook of the application delays', () => {
  it('serves requests with and without locks until the hook ends, in every order of imports', async () => {
    const report = await grace();
    expect(Object.keys(report)).toHaveLength(9);
    expect(report).toEqual(Object.fromEntries(Object.keys(report).map((place) => [place, [200, 201]])));
  });
});
