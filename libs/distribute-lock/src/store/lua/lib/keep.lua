-- The first write removes a token from the queue, which a full server accepts. It would reject a longer lease as the
-- first write.
local function keepReading(token, ttlMs, exact)
  redis.call('ZREM', queue, token)
  if exact == '=' then redis.call('ZADD', readers, nowMs() + ttlMs, token) else lend(token, ttlMs) end
  settle()
  return REPLY.RENEWED, writerWaits(), 0
end

local function keep(token, ttlMs, exact)
  if not isReader(token) then return renew(lock, queue, token, ttlMs, exact) end
  if not reads(token) then return REPLY.LOST, 0, 0 end
  return keepReading(token, ttlMs, exact)
end

-- Converts a write lock into a read lock and admits the waiting readers. The lease may become longer, never shorter,
-- because the writer relies on it.
local function downgrade(token, ttlMs, readToken)
  if reads(readToken) then return keepReading(readToken, ttlMs) end
  redis.call('ZREM', queue, readToken)
  local owner = redis.call('GET', lock)
  if owner ~= token then return REPLY.LOST, owner and 1 or 0, 0 end
  beginReading(readToken, math.max(tonumber(ttlMs), redis.call('PTTL', lock)), readersInQueue())
  return REPLY.RENEWED, writerWaits(), 0
end
