local function mismatch(permits)
  return 10, permits, 0
end

local function acquire(token, ttlMs, block, permits, deadlineMs, command)
  if isLate(deadlineMs) then return 14, now, 0 end
  permits = tonumber(permits)
  if stored and not limit then
    leaveQueue(token)
    return mismatch(0)
  end
  readLeases()
  if limit and limit ~= permits then
    -- It may have been offered under the limit that is there.
    leaveQueue(token)
    takeBack(token)
    serve(limit)
    settle()
    return mismatch(limit)
  end
  if ends[token] then
    leaveQueue(token)
    raise(token, ttlMs)
    serve(limit)
    settle()
    return 1, fencingTokens(block), state(token)
  end
  if redis.call('ZSCORE', queue, token) then ask(token) end
  if serve(permits, token, ttlMs) then
    settle()
    return 1, fencingTokens(block), state(token)
  end
  if command == 'w' then
    enqueue(token)
    tellHolders(token)
  end
  settle()
  return command == 'w' and 2 or 3, left(token), 0
end

-- Also leaves the queue and undoes an attempt: whoever leaves serves those behind it.
local function release(token, next, ttlMs, block, deadlineMs)
  if next ~= '' and isLate(deadlineMs) then next = '' end
  leaveQueue(token)
  if not limit then return 6, 0, 0 end
  readLeases()
  local found = ends[token]
  takeBack(token)
  if not found or next == '' then
    serve(limit)
    settle()
    return found and 4 or 6, 0, 0
  end
  -- A question that is asked again: never given twice.
  local again = ends[next]
  if not again then enqueue(next) end
  local served = serve(limit, not again and next, ttlMs)
  if served then
    settle()
    return 8, fencingTokens(block), state(next)
  end
  tellHolders(next)
  settle()
  return 2, left(next), 0
end

-- `exact` is '=' where the lease may become shorter. Other leases are not looked at, unless this one may have been the last to end.
local function renew(token, ttlMs, exact)
  local present = limit and tonumber(redis.call('ZSCORE', held, token) or 0) or 0
  if present <= now then return 6, 0, 0 end
  local endsAt = now + ttlMs
  if exact == '=' and endsAt < present then
    readLeases()
    ends[token] = 0
    raise(token, ttlMs)
  elseif endsAt > present then
    if ends then ends[token] = endsAt end
    -- A server that is full does not refuse the first write, nor what follows.
    redis.call('PEXPIREAT', lock, endsAt, 'GT')
    redis.call('PEXPIREAT', held, endsAt, 'GT')
    redis.call('ZADD', held, endsAt, token)
  end
  return 7, others(token), 0
end
