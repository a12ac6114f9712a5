--@include lib/one-primary.lua
--@include lib/clock.lua
--@include lib/fence-number.lua
local last, saved
-- The mark of instances with one counter per lock, if the shared counter has one; see mark-counter.lua.
local mark

-- Writes the counter and returns its previous value.
local function swapFence(number)
  if mark then number = string.format('%.0f', number) .. mark end
  if fenceMs then return redis.call('SET', fence, number, 'PX', fenceMs, 'GET') end
  return redis.call('SET', fence, number, 'GET')
end

-- Reads a counter with a mark, and keeps the mark until its end. Returns the number, or nil if the counter is invalid.
local function markedNumber(text)
  local number, endsAt = string.match(text, '^(%d+)(~%d+)$')
  if number and nowMs() < tonumber(string.sub(endsAt, 2)) then mark = endsAt end
  return number and fenceNumber(number)
end

-- Issues `count` fencing tokens. They end at the server's clock in microseconds or start after the last issued number,
-- whichever is larger. They increase even after the counter is lost, because numbers are issued more slowly than the
-- clock runs. If another counter may have issued numbers for the same lock, they start at the clock instead. Returns
-- the first of them.
local function fencingTokens(count)
  if not last then
    clock = clock or redis.call('TIME')
    local micros = clock[2]
    if #micros < 6 then micros = string.rep('0', 6 - #micros) .. micros end
    -- One call writes and reads the counter, as text: the counter is rarely ahead of the clock.
    saved = clock[1] .. micros
    local before = swapFence(saved)
    last = fenceNumber(before)
    if not last then last = markedNumber(before) end
    if not last then
      swapFence(before)
      saved = nil
      refuseFence(fence)
    end
    saved = tonumber(saved)
    if (fenceMs or mark) and last < saved then
      local first = saved
      last = first + count - 1
      -- The counter is written again, with its mark.
      if mark then saved = nil end
      return first
    end
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
