--@include lib/one-primary.lua
--@include lib/clock.lua
--@include lib/fence-number.lua
local last, saved

-- Writes the counter, and answers what it held.
local function swapFence(number)
  if fenceMs then return redis.call('SET', fence, number, 'PX', fenceMs, 'GET') end
  return redis.call('SET', fence, number, 'GET')
end

-- Fencing tokens: `count` numbers that end at the server's clock in microseconds, or begin behind the last number that was
-- issued, whichever is larger. They rise while the counter lives, and also when it is lost, because numbers are issued
-- more slowly than the clock runs. Answers the first of them.
local function fencingTokens(count)
  if not last then
    clock = clock or redis.call('TIME')
    local micros = clock[2]
    if #micros < 6 then micros = string.rep('0', 6 - #micros) .. micros end
    -- Written and read in one call, and as text: the counter hardly ever runs ahead of the clock.
    saved = clock[1] .. micros
    local before = swapFence(saved)
    last = fenceNumber(before)
    if not last then
      swapFence(before)
      saved = nil
      refuseFence(fence)
    end
    saved = tonumber(saved)
    if last <= saved - count then
      last = saved
      return saved - count + 1
    end
  end
  local first = last + 1
  last = last + count
  return first
end

local function saveFence()
  if last ~= saved then swapFence(last) end
end
