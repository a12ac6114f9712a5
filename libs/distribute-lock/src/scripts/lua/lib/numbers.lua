-- Milliseconds that depend on each other and on the heartbeat of those who wait; a test holds them against store/protocol.ts.
-- Text, because the server takes it as it is.
local claimMs = '1750'
local queueMs = '15000'
-- Fencing tokens of an offer.
local offeredNumbers = 16
