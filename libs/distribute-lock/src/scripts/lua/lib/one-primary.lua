-- What is different in Redis Cluster, where `lib/cluster.lua` stands here: PUBLISH says how many received a message, and one
-- counter of fencing tokens serves all locks of a prefix for ever.
local counted = true
local fenceMs = nil
