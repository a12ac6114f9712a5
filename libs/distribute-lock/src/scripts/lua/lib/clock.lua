-- The server's clock as TIME answers it, read once in a call at most.
local clock

-- Whether the deadline of a command has passed; 0: it has none. The network delivered such a command so late that its process
-- counts on it to have no effect.
local function isLate(deadlineMs)
  if deadlineMs == '0' then return false end
  clock = clock or redis.call('TIME')
  return clock[1] * 1000 + clock[2] / 1000 - deadlineMs > 0
end

local function nowMs()
  clock = clock or redis.call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end
