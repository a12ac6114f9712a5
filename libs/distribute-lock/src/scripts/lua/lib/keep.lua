-- The first write of both takes a token out of the queue: a server that is full would refuse to raise a lease first.
local function keepReading(token, ttlMs, exact)
  redis.call('ZREM', queue, token)
  if exact == '=' then redis.call('ZADD', readers, nowMs() + ttlMs, token) else lend(token, ttlMs) end
  settle()
  return 7, writerWaits(), 0
end

local function keep(token, ttlMs, exact)
  if not isReader(token) then return renew(lock, queue, token, ttlMs, exact) end
  if not reads(token) then return 6, 0, 0 end
  return keepReading(token, ttlMs, exact)
end

-- The readers that wait come along. What the writer was promised is kept: the lease may become longer, never shorter.
local function downgrade(token, ttlMs, readToken)
  if reads(readToken) then return keepReading(readToken, ttlMs) end
  redis.call('ZREM', queue, readToken)
  local owner = redis.call('GET', lock)
  if owner ~= token then return 6, owner and 1 or 0, 0 end
  beginReading(readToken, math.max(tonumber(ttlMs), redis.call('PTTL', lock)), readersInQueue())
  return 7, writerWaits(), 0
end
