import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { HEARTBEAT_JITTER, HEARTBEAT_MS } from '../../libs/distribute-lock/src/engine/heartbeat.js';
import * as protocol from '../../libs/distribute-lock/src/store/protocol.js';

const LUA = new URL('../../libs/distribute-lock/src/store/lua/', import.meta.url);
/** Only TypeScript code uses this number. */
const NOT_IN_LUA = ['EXECUTION_LIMIT_MS'];

describe('the numbers of the protocol', () => {
  it('are all used by the scripts', () => {
    const scripts = readdirSync(fileURLToPath(LUA), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.lua'))
      .map((file) => readFileSync(new URL(file, LUA), 'utf8'));
    const used = new Set(scripts.flatMap((lua) => lua.match(/(?<=\bPROTOCOL\.)\w+/g) ?? []));

    expect([...used, ...NOT_IN_LUA].toSorted()).toEqual(Object.keys(protocol).toSorted());
  });

  it('keep the place of a live waiter when one message is lost', () => {
    const { CLAIM_WINDOW_MS, QUEUE_TTL_MS } = protocol;
    expect(HEARTBEAT_MS * (1 + HEARTBEAT_JITTER)).toBeLessThan(CLAIM_WINDOW_MS);
    expect(QUEUE_TTL_MS).toBeGreaterThan(3 * HEARTBEAT_MS);
  });
});
