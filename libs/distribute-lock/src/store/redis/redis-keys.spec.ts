import { RedisKeys, slotOf } from './redis-keys.js';

describe('RedisKeys', () => {
  const keys = new RedisKeys('lock:');
  const queueOf = (key: string): string => keys.queue(keys.lock(key));

  it('adds only the prefix to the name of a lock, so that foreign clients find it', () => {
    expect(keys.lock('post_test_web')).toBe('lock:post_test_web');
  });

  it('assigns the queue to the slot of its lock', () => {
    expect(queueOf('order:42')).toBe('q1:{lock:order:42}');
    expect(queueOf('order:{42}:x')).toBe('q1:lock:order:{42}:x');
  });

  it('assigns the helpers of a read/write lock to its slot', () => {
    expect([keys.readers('lock:order:42'), keys.gate('lock:order:42')]).toEqual([
      'r1:{lock:order:42}',
      'g1:{lock:order:42}',
    ]);
    expect(keys.readers('lock:order:{42}:x')).toBe('r1:lock:order:{42}:x');
  });

  it.each([
    [['{a}:1', '{a}:2'], 'lock:', true],
    [['1', '2'], '{app}:lock:', true],
    [['1', '2'], 'lock:', false],
    [['{a}:1', '{b}:1'], 'lock:', false],
  ])('detects whether keys %p with the prefix %p are in one slot', (those, prefix, is) => {
    expect(new RedisKeys(prefix).inOneSlot(those)).toBe(is);
  });

  it('appends the length of the prefix in bytes to the names of counters', () => {
    expect(keys.fence).toBe('f1:lock::5');
    expect(keys.fenceOf('lock:order:42')).toBe('f1:{lock:order:42}:5');
    expect(new RedisKeys('app:schlüssel:').fence).toBe('f1:app:schlüssel::15');
  });

  it('names an inbox by the prefix and the channel id, without the secret', () => {
    const processId = 'abcdefghijkSECRETSECRE';
    expect(keys.channel(processId)).toBe('nestjs-lock:1:lock:abcdefghijk');
    expect(new RedisKeys('app:lock:').channel(processId)).toBe('nestjs-lock:1:app:lock:abcdefghijk');
  });

  it.each([
    ['lock:', 'a', undefined],
    ['lock:', 'a}b', /^has a "}" but no "{tag}"/],
    ['app:lock:', '{a}', undefined],
    ['app:lock:', 'a', undefined],
  ])('says why a Cluster client with the prefix %j cannot lock %j', (prefix, key, fault) => {
    const found = new RedisKeys(prefix).clusterFault(key);
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(fault);
  });

  it('gives every lock a separate queue', () => {
    const odd = ['a', '{a}', '{}a', 'a}b', '{a', 'a{b}c', '{{a}}', '}{'];
    expect(new Set(odd.map(queueOf)).size).toBe(odd.length);
  });
});

describe('slotOf', () => {
  it.each([
    ['123456789', 0x31c3],
    ['foo', 12_182],
    ['{foo}bar', 12_182],
    ['q1:{lock:schlüssel}', slotOf('lock:schlüssel')],
    ['', 0],
  ])('returns the slot of %j as Redis Cluster computes it', (key, slot) => {
    expect(slotOf(key)).toBe(slot);
  });
});
