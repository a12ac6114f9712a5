import { ownClusterOptions } from './own-options.js';

describe('The options of a Cluster client of our own', () => {
  it('leave gathering to us, whatever the user wants: some versions of the client refuse keys of several slots in one tick', () => {
    expect(ownClusterOptions({ enableAutoPipelining: true })).toMatchObject({ enableAutoPipelining: false });
  });
});
