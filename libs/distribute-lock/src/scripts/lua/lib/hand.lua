-- Readers take the lock: `own` for its whole ttl, and all that wait. Leases of earlier readers end here, whatever they say.
-- Answers false when there is nobody who could be reached.
local function beginReading(own, ttlMs)
  local reading, writing = inQueue()
  redis.call('SET', lock, READERS, 'PX', claimMs)
  redis.call('DEL', readers, gate)
  if #writing > 0 then closeGate() end
  if own then lend(own, ttlMs) end
  return letIn(reading, own)
end

-- The token itself, or any of the process whose tokens begin with `process`.
local function find(waiting, own, process)
  for _, token in ipairs(waiting) do
    if token == own or (process and string.sub(token, 1, 23) == process) then return token end
  end
end

-- Gives a lock that nobody holds any more to those who wait: after a writer all readers are next, after readers the first writer,
-- and when it was found free, whoever waits longest decides the kind. Answers who has it; second, whether that is one of the
-- caller's own tokens, which then has its whole ttl. Nothing: nobody could be reached, and the lock is free.
-- `own`, `process`: the caller's token of the kind `kind`, or all its tokens of that kind.
local function hand(after, kind, own, process, ttlMs)
  while true do
    local reading, writing, readerIsFirst = inQueue()
    if #reading + #writing == 0 then
      redis.call('DEL', lock, readers, gate)
      return
    end
    local readersAreNext = #writing == 0
    if #reading > 0 and #writing > 0 then readersAreNext = after == 'w' or (after == '' and readerIsFirst) end
    if readersAreNext then
      -- A reader that asks need not have waited.
      local mine = kind == 'r' and (own or find(reading, own, process))
      if beginReading(mine, ttlMs) then return mine or READERS, mine end
    else
      local first = writing[1]
      redis.call('ZREM', queue, first)
      if kind == 'w' and find({ first }, own, process) then
        redis.call('SET', lock, first, 'PX', ttlMs)
        redis.call('DEL', readers, gate)
        return first, true
      end
      if offer(lock, first) then
        redis.call('DEL', readers, gate)
        return first
      end
    end
  end
end
