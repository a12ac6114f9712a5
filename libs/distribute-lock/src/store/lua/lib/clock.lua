-- The reply of TIME, read at most once per call.
local clock

-- Whether the deadline of a command has passed; 0: none. The process of such a command relies on its having no effect.
local function isLate(deadlineMs)
  if deadlineMs == '0' then return false end
  clock = clock or redis.call('TIME')
  return clock[1] * 1000 + clock[2] / 1000 - deadlineMs > 0
end

local function nowMs()
  clock = clock or redis.call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end
