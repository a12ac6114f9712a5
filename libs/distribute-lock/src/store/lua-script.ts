import { createHash } from 'node:crypto';

import { FENCE_TTL_MS } from './protocol.js';

/** A text of a script: EVALSHA identifies it by `sha1`, EVAL sends `lua`. */
export class LuaText {
  private digest: string | undefined;

  constructor(readonly lua: string) {}

  get sha1(): string {
    return (this.digest ??= createHash('sha1').update(this.lua).digest('hex'));
  }
}

/** A script in Redis. Its text is for one primary; the variants differ in the settings at its beginning. */
export class LuaScript extends LuaText {
  /** For Redis Cluster: PUBLISH does not count all receivers, and each lock has a counter of fencing tokens. */
  readonly cluster = new LuaText(
    this.lua
      .replace('local counted = true', 'local counted = false')
      .replace('local fenceMs = nil', `local fenceMs = '${FENCE_TTL_MS}'`),
  );

  /** For a large Redis Cluster: messages go to a channel in the slot of the lock first. */
  readonly largeCluster = new LuaText(this.cluster.lua.replace('local sharded = false', 'local sharded = true'));

  constructor(
    readonly name: string,
    lua: string,
  ) {
    super(lua);
  }
}
