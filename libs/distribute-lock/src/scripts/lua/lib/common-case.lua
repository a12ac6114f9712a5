-- Nobody holds the lock and nobody waits: in as few calls as it takes. A full server refuses the first write, and nothing
-- has happened. Answers the first fencing token, or nothing when the case is another one.
local function take(lock, queue, token, ttlMs, block)
  if redis.call('EXISTS', queue) == 0 and redis.call('SET', lock, token, 'NX', 'PX', ttlMs) then
    return fencingTokens(block)
  end
end

local function raiseExpiry(lock, ttlMs)
  if redis.call('PTTL', lock) < tonumber(ttlMs) then redis.call('PEXPIRE', lock, ttlMs) end
end

-- The lock carries the token already: it was offered, or the question is asked again. Answers the first fencing token and how
-- many processes wait; or else, third, the owner.
local function claim(lock, queue, token, ttlMs, block)
  local owner = redis.call('GET', lock)
  if owner ~= token then return nil, nil, owner end
  raiseExpiry(lock, ttlMs)
  redis.call('ZREM', queue, token)
  return fencingTokens(block), redis.call('ZCARD', queue)
end
