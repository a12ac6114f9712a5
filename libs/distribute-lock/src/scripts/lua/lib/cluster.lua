-- What is different in Redis Cluster: PUBLISH counts only who listens at this node, and every lock has a counter of fencing
-- tokens of its own, in its slot, which ends some time after the last grant.
local counted = false
local fenceMs = '600000'
