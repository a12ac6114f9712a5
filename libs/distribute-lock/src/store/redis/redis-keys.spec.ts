import { RedisKeys } from './redis-keys.js';

describe('RedisKeys', () => {
  const keys = new RedisKeys('lock:');
  const queueOf = (key: string): string => keys.queue(keys.lock(key));

  it('puts only the prefix before the lock itself, so that foreign clients find it', () => {
    expect(keys.lock('post_test_web')).toBe('lock:post_test_web');
  });

  it('puts the queue into the slot of its lock', () => {
    expect(queueOf('order:42')).toBe('q1:{lock:order:42}');
    expect(queueOf('order:{42}:x')).toBe('q1:lock:order:{42}:x');
  });

  it('puts the helpers of a read/write lock there as well', () => {
    expect([keys.readers('lock:order:42'), keys.gate('lock:order:42')]).toEqual([
      'r1:{lock:order:42}',
      'g1:{lock:order:42}',
    ]);
    expect(keys.readers('lock:order:{42}:x')).toBe('r1:lock:order:{42}:x');
  });

  it.each([
    [['{a}:1', '{a}:2'], '', true],
    [['1', '2'], '{app}:', true],
    [['1', '2'], '', false],
    [['{a}:1', '{b}:1'], '', false],
  ])('knows whether %p behind the prefix %p of a client are in one slot', (those, outer, is) => {
    expect(new RedisKeys('lock:', outer).inOneSlot(those)).toBe(is);
  });

  it('ends the names of counters in the bytes of what stands before every key', () => {
    expect(keys.fence).toBe('f1:lock::5');
    expect(keys.fenceOf('lock:order:42')).toBe('f1:{lock:order:42}:5');
    expect(new RedisKeys('schlüssel:', 'app:').fence).toBe('f1:schlüssel::15');
  });

  it('puts both prefixes and the channel id, and no secret, into the name of an inbox', () => {
    const processId = 'abcdefghijkSECRETSECRE';
    expect(keys.channel(processId)).toBe('nestjs-lock:1:lock:abcdefghijk');
    expect(new RedisKeys('lock:', 'app:').channel(processId)).toBe('nestjs-lock:1:app:lock:abcdefghijk');
  });

  it('gives every lock a queue of its own', () => {
    const odd = ['a', '{a}', '{}a', 'a}b', '{a', 'a{b}c', '{{a}}', '}{'];
    expect(new Set(odd.map(queueOf)).size).toBe(odd.length);
  });
});
