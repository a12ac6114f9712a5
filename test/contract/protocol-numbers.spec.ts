import { HEARTBEAT_JITTER, HEARTBEAT_MS } from '../../libs/distribute-lock/src/engine/heartbeat.js';
import {
  lockScript,
  quorumScript,
  semaphoreScript,
} from '../../libs/distribute-lock/src/store/lua/generated/lua-scripts.js';
import {
  AHEAD_MICROS,
  CLAIM_WINDOW_MS,
  FENCE_TTL_MS,
  OFFERED_NUMBERS,
  OFFERED_PERMIT_NUMBERS,
  QUEUE_TTL_MS,
} from '../../libs/distribute-lock/src/store/protocol.js';

describe('the numbers of the protocol', () => {
  it('are the same in the scripts', () => {
    expect(lockScript.lua).toContain(`local claimMs = '${CLAIM_WINDOW_MS}'\n`);
    expect(lockScript.lua).toContain(`local queueMs = '${QUEUE_TTL_MS}'\n`);
    expect(lockScript.lua).toContain(`local offeredNumbers = ${OFFERED_NUMBERS}\n`);
    expect(quorumScript.lua).toContain(`local FENCE_MS = ${FENCE_TTL_MS}\n`);
    expect(lockScript.cluster?.lua).toContain(`local fenceMs = '${FENCE_TTL_MS}'\n`);
    expect(semaphoreScript.lua).toContain(
      `local offeredMany, aheadMicros = ${OFFERED_PERMIT_NUMBERS}, ${AHEAD_MICROS}\n`,
    );
  });

  it('keep the place of a live waiter when one message is lost', () => {
    expect(HEARTBEAT_MS * (1 + HEARTBEAT_JITTER)).toBeLessThan(CLAIM_WINDOW_MS);
    expect(QUEUE_TTL_MS).toBeGreaterThan(3 * HEARTBEAT_MS);
  });
});
