-- Fencing tokens: the larger of the first unused number and the server's clock in microseconds. They rise while the
-- counter lives, and also when it is lost, because numbers are issued more slowly than the clock runs.
local unused, unusedBefore
local function fencingTokens(count)
  if not unused then
    local clock = redis.call('TIME')
    unusedBefore = tonumber(redis.call('GET', fence) or 0)
    unused = math.max(unusedBefore, clock[1] * 1000000 + clock[2])
  end
  local first = unused
  unused = first + count
  return first
end

local function saveFence()
  if unused and unused > unusedBefore then redis.call('SET', fence, string.format('%.0f', unused)) end
end
