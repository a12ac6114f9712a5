import { createHash } from 'node:crypto';
import { sharedParts } from './rules/parts.mjs';
import { stripLua } from './lua-text.mjs';

const long = 'redis.call("SET", lock, token, "PX", ttlMs) '.repeat(6);
const inner = (indent) => `${indent}local function inner(lock)\n${indent}    ${long}\n${indent}end\n`;
const outer = `local function outer(lock)\n${inner('    ')}    return inner(lock)\nend\n`;
const shared = (...scripts) => sharedParts(scripts, stripLua);

describe('The parts of scripts', () => {
  it('are the functions that two scripts have, at any depth', () => {
    const { parts, texts } = shared(`${outer}return outer(1)\n`, `${inner('')}return inner(2)\n`);

    expect(parts).toMatchObject([{ name: 'innerPart', text: `${stripLua(inner(''))}\n` }]);
    expect(texts).toEqual([
      'local function outer(lock)\n${innerPart}return inner(lock)\nend\nreturn outer(1)',
      '${innerPart}return inner(2)',
    ]);
  });

  it('come after the parts that they contain', () => {
    const { parts } = shared(`${outer}return 1\n`, `${outer}return 2\n`, `${inner('')}return 3\n`);

    expect(parts.map(({ name }) => name)).toEqual(['innerPart', 'outerPart']);
    expect(parts[1].text).toContain('${innerPart}');
  });

  it('have two names if two functions have one', () => {
    const other = inner('').replace('SET', 'GET');
    const { parts } = shared(`${inner('')}a = 1\n`, `${inner('')}a = 2\n`, `${other}a = 3\n`, `${other}a = 4\n`);

    expect(parts.map(({ name }) => name).sort()).toEqual(['innerPart', 'innerPart2']);
  });
});

describe('The scripts of the package', () => {
  it('differ in a Cluster by their settings', async () => {
    const { lockScript, membersScript } = await import('../libs/distribute-lock/src/store/generated/lua-scripts.ts');
    const settingsOf = ({ lua }) => lua.match(/^local (counted|sharded|fenceMs) = .*$/gm);

    expect(settingsOf(lockScript)).toEqual(['local counted = true', 'local sharded = false', 'local fenceMs = nil']);
    expect(settingsOf(lockScript.cluster)).toEqual([
      'local counted = false',
      'local sharded = false',
      "local fenceMs = '600000'",
    ]);
    expect(settingsOf(lockScript.largeCluster)).toContain('local sharded = true');
    expect(membersScript.cluster.lua).toBe(membersScript.lua);
  });

  it('have the digest of their text', async () => {
    const scripts = await import('../libs/distribute-lock/src/store/generated/lua-scripts.ts');
    const digest = (lua) => createHash('sha1').update(lua).digest('hex');

    for (const { lua, sha1, cluster } of Object.values(scripts)) {
      expect(sha1).toBe(digest(lua));
      expect(cluster.sha1).toBe(digest(cluster.lua));
    }
  });
});
