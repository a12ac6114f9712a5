import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { HEARTBEAT_JITTER, HEARTBEAT_MS } from '../../libs/distribute-lock/src/engine/heartbeat.js';
import * as protocol from '../../libs/distribute-lock/src/store/protocol.js';

const RULES = new URL('../../libs/distribute-lock/src/store/protocol/', import.meta.url);
/** Only the processes use this number. */
const NOT_IN_RULES = ['EXECUTION_LIMIT_MS'];

describe('the numbers of the protocol', () => {
  it('are all used by the rules', () => {
    const rules = readdirSync(fileURLToPath(RULES)).map((file) => readFileSync(new URL(file, RULES), 'utf8'));
    const isUsed = (name: string) => rules.some((text) => new RegExp(`\\b${name}\\b`).test(text));

    expect(Object.keys(protocol).filter((name) => !isUsed(name))).toEqual(NOT_IN_RULES);
  });

  it('keep the place of a live waiter when one message is lost', () => {
    const { CLAIM_WINDOW_MS, QUEUE_TTL_MS } = protocol;
    expect(HEARTBEAT_MS * (1 + HEARTBEAT_JITTER)).toBeLessThan(CLAIM_WINDOW_MS);
    expect(QUEUE_TTL_MS).toBeGreaterThan(3 * HEARTBEAT_MS);
  });
});
