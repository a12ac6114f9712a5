-- Replies to the caller while a lock of another kind or a foreign client has the key. The caller waits in the queue of the
-- semaphore, and no message announces that the key is free.
local function waitForKey(token, command)
  readLeases()
  local leftMs = redis.call('PTTL', lock)
  if command ~= 'w' then return REPLY.BUSY, leftMs, 1 end
  enqueue(token)
  return REPLY.QUEUED, leftMs, 2
end

local function acquire(token, ttlMs, block, deadlineMs, _, command)
  if isLate(deadlineMs) then return REPLY.TOO_LATE, now, 0 end
  readLeases()
  -- The value of a foreign client may look like that of a semaphore. The leases end with the key, so without them it is
  -- foreign.
  if stored and used == 0 then return waitForKey(token, command) end
  unsettled = true
  if ends[token] then
    leaveQueue(token)
    raise(token, ttlMs)
    serve()
    return REPLY.GRANTED, fencingTokens(block), others(token)
  end
  if headOf() and redis.call('ZSCORE', queue, token) then extendPlaces(token) end
  if serve(token, ttlMs) then return REPLY.GRANTED, fencingTokens(block), others(token) end
  if command ~= 'w' then return REPLY.BUSY, left(token), 0 end
  local adjacent = enqueue(token)
  return REPLY.QUEUED, left(token), adjacent
end

-- Releases the permits, removes the token from the queue, or undoes an attempt. Each case serves the tokens behind it.
local function release(token, next, ttlMs, block, deadlineMs)
  if next ~= '' and isLate(deadlineMs) then next = '' end
  readLeases()
  local isHeld, found = used > 0, ends[token]
  unsettled = unsettled or isHeld
  if found then takeBack(token) else leaveQueue(token) end
  if not isHeld then return REPLY.LOST, 0, 0 end
  if not found or next == '' then
    serve()
    return found and REPLY.FREE or REPLY.LOST, 0, 0
  end
  -- `next` may have an offer of which its process does not know.
  local offered = ends[next]
  if offered then raise(next, ttlMs) else enqueue(next) end
  if serve(not offered and next, ttlMs) or offered then
    return REPLY.GRANTED_NEXT, fencingTokens(block), others(next)
  end
  return REPLY.QUEUED, left(next), 0
end

-- `exact` is '=' if the lease may become shorter. Reads the other leases only if this one may have been the last to
-- end.
local function renew(token, ttlMs, exact)
  local present = limit and tonumber(redis.call('ZSCORE', held, token) or 0) or 0
  if present <= now then return REPLY.LOST, 0, 0 end
  local endsAt = now + ttlMs
  if exact == '=' and endsAt < present then
    readLeases()
    ends[token] = 0
    raise(token, ttlMs)
  elseif endsAt > present then
    if ends then ends[token] = endsAt end
    -- A full server accepts this first write and all later writes.
    redis.call('PEXPIREAT', lock, endsAt, 'GT')
    redis.call('PEXPIREAT', held, endsAt, 'GT')
    redis.call('ZADD', held, endsAt, token)
  end
  return REPLY.RENEWED, others(token), 0
end
