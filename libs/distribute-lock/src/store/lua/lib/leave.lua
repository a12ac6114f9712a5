-- Opens the gate and admits waiting readers when the last waiting writer leaves.
local function openGate()
  if firstWriter() then return end
  redis.call('DEL', gate)
  if anyoneReads() then letMoreIn() end
end

-- Releases one of several readers; `next` joins the others unless a writer waits.
local function leaveOthers(next, ttlMs, block)
  settle()
  if not next then return REPLY.PASSED, 0, 0 end
  if join(next, ttlMs) then return REPLY.GRANTED_NEXT, fencingTokens(block), next end
  append(queue, next)
  return REPLY.QUEUED, untilOpen(), 0
end

-- Releases the lock, removes the token from the queue, or undoes an attempt, as in lock.lua.
local function leave(token, next, ttlMs, block, deadlineMs)
  if next ~= '' and isLate(deadlineMs) then next = '' end
  local kind = isReader(token) and 'r' or 'w'
  -- A full server accepts this first write and all later writes.
  local waited = redis.call('ZREM', queue, token) == 1
  local owner = redis.call('GET', lock)
  if kind == 'w' and owner ~= token then
    if waited and owner == READERS then openGate() end
    return REPLY.LOST, owner and 1 or 0, 0
  end
  local process = next == '-' and string.sub(token, 1, 23) or nil
  local wanted = next ~= '' and next ~= '-' and next or nil
  if kind == 'r' then
    if not reads(token) then return REPLY.LOST, 0, 0 end
    redis.call('ZREM', readers, token)
    if anyoneReads() then return leaveOthers(wanted, ttlMs, block) end
  end
  if wanted then append(queue, wanted) end
  local taker, mine = hand(kind, kind, wanted, process, ttlMs)
  if mine then return REPLY.GRANTED_NEXT, fencingTokens(block), taker end
  if not taker then return REPLY.FREE, 0, 0 end
  if wanted then return REPLY.QUEUED, math.min(redis.call('PTTL', lock), tonumber(claimMs)), 0 end
  return REPLY.PASSED, 0, 0
end
