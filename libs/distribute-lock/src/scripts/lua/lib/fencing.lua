-- Fencing tokens: the larger of the first unused number and the server's clock in microseconds. They rise while the
-- counter lives, and also when it is lost, because numbers are issued more slowly than the clock runs.
local unused, saved
local function fencingTokens(count)
  if not unused then
    local clock = redis.call('TIME')
    unused = clock[1] * 1000000 + clock[2]
    -- Written and read in one call: the counter hardly ever runs ahead of the clock.
    saved = unused + count
    local stored = redis.call('SET', fence, saved, 'GET')
    if stored and tonumber(stored) > unused then unused = tonumber(stored) end
  end
  local first = unused
  unused = first + count
  return first
end

local function saveFence()
  if unused ~= saved then redis.call('SET', fence, unused) end
end
