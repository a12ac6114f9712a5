-- Nobody holds the lock and nobody waits: in as few calls as it takes. A full server refuses the first write, and nothing
-- has happened. Answers the fencing token, or nothing when the case is another one.
local function take(lock, queue, token, ttlMs, block)
  if redis.call('EXISTS', queue) == 0 and redis.call('SET', lock, token, 'NX', 'PX', ttlMs) then
    return fencingTokens(tonumber(block))
  end
end

-- Nobody waits for the lock that the token holds. Answers nothing when the case is another one.
local function free(lock, queue, token)
  if redis.call('EXISTS', queue) == 0 and redis.call('GET', lock) == token then
    redis.call('DEL', lock)
    return true
  end
end
