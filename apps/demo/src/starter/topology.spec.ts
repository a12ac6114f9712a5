import { topologyOf } from './topology.js';

describe('topologyOf', () => {
  it('uses one server by default', () => expect(topologyOf()).toBe('single'));

  it.each(['single', 'sentinel', 'cluster', 'quorum'])('accepts %s', (name) => expect(topologyOf(name)).toBe(name));

  it('lists the known names when it gets another one', () => {
    expect(() => topologyOf('ring')).toThrow('single, sentinel, cluster, quorum');
  });
});
