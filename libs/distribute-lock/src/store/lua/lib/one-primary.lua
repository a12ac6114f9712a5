-- Settings for one primary; in Redis Cluster `lib/cluster.lua` replaces this file. PUBLISH returns the number of
-- receivers. One counter of fencing tokens serves all locks of a prefix and never expires.
local counted = true
local sharded = false
local fenceMs = nil
