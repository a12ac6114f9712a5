-- Durations in milliseconds that depend on each other and on the heartbeat of waiters; a test compares them with
-- store/protocol.ts. They are text because Redis commands take them as text.
local claimMs = '1750'
local queueMs = '15000'
-- Number of fencing tokens of an offer.
local offeredNumbers = 16
