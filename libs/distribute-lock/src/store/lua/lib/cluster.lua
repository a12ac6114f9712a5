-- Settings for Redis Cluster. PUBLISH counts only the subscribers of this node. Every lock has a separate counter of
-- fencing tokens in its slot, which expires some time after the last grant.
local counted = false
local fenceMs = 'PROTOCOL.FENCE_TTL_MS'
