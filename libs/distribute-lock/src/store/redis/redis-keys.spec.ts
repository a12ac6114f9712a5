import { RedisKeys } from './redis-keys.js';

describe('RedisKeys', () => {
  const keys = new RedisKeys('lock:');
  const queueOf = (key: string): string => keys.queue(keys.lock(key));

  it('puts only the prefix before the lock itself, so that foreign clients find it', () => {
    expect(keys.lock('post_test_web')).toBe('lock:post_test_web');
  });

  it('puts the queue into the slot of its lock', () => {
    expect(queueOf('order:42')).toBe('q:{lock:order:42}');
    expect(queueOf('order:{42}:x')).toBe('q:lock:order:{42}:x');
  });

  it('puts the helpers of a read/write lock there as well', () => {
    expect([keys.readers('lock:order:42'), keys.gate('lock:order:42')]).toEqual([
      'r:{lock:order:42}',
      'g:{lock:order:42}',
    ]);
    expect(keys.readers('lock:order:{42}:x')).toBe('r:lock:order:{42}:x');
  });

  it.each([
    [['{a}:1', '{a}:2'], '', true],
    [['1', '2'], '{app}:', true],
    [['1', '2'], '', false],
    [['{a}:1', '{b}:1'], '', false],
  ])('knows whether %p behind the prefix %p of a client are in one slot', (those, outer, is) => {
    expect(keys.inOneSlot(those, outer)).toBe(is);
  });

  it('gives every lock a queue of its own', () => {
    const odd = ['a', '{a}', '{}a', 'a}b', '{a', 'a{b}c', '{{a}}', '}{'];
    expect(new Set(odd.map(queueOf)).size).toBe(odd.length);
  });
});
