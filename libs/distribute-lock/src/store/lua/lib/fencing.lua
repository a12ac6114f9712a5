--@include lib/one-primary.lua
--@include lib/clock.lua
--@include lib/fence-number.lua
local last, saved

-- Writes the counter and returns its previous value.
local function swapFence(number)
  if fenceMs then return redis.call('SET', fence, number, 'PX', fenceMs, 'GET') end
  return redis.call('SET', fence, number, 'GET')
end

-- Issues `count` fencing tokens. They end at the server's clock in microseconds or start after the last issued number,
-- whichever is larger. They increase even after the counter is lost, because numbers are issued more slowly than the
-- clock runs. Returns the first of them.
local function fencingTokens(count)
  if not last then
    clock = clock or redis.call('TIME')
    local micros = clock[2]
    if #micros < 6 then micros = string.rep('0', 6 - #micros) .. micros end
    -- One call writes and reads the counter, as text: the counter is rarely ahead of the clock.
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
