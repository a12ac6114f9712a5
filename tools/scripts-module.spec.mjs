import { createHash } from 'node:crypto';

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
