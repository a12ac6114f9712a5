import { topologyOf } from './topology.js';

describe('topologyOf', () => {
  it('takes one server when nothing is asked for', () => expect(topologyOf()).toBe('single'));

  it.each(['single', 'sentinel', 'cluster', 'quorum'])('knows %s', (name) => expect(topologyOf(name)).toBe(name));

  it('names what it knows when it is asked for something else', () => {
    expect(() => topologyOf('ring')).toThrow('single, sentinel, cluster, quorum');
  });
});
