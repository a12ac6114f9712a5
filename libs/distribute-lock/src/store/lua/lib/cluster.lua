-- Settings for Redis Cluster. PUBLISH counts only the subscribers of this node. Every lock has a separate counter of
-- fencing tokens in its slot, which expires some time after the last grant. In a large Cluster `sharded` becomes true.
local counted = false
local sharded = false
local fenceMs = 'PROTOCOL.FENCE_TTL_MS'
