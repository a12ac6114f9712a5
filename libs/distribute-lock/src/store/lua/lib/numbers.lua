-- Durations in milliseconds that depend on each other and on the heartbeat of waiters, from store/protocol.ts. They are
-- text because Redis commands take them as text.
local claimMs = 'PROTOCOL.CLAIM_WINDOW_MS'
local shortMs = 'PROTOCOL.SHORT_OFFER_MS'
local queueMs = 'PROTOCOL.QUEUE_TTL_MS'
