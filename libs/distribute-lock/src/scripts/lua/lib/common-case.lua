--@include lib/take.lua
-- Nobody holds the lock and nobody waits: in as few calls as it takes. Answers the first fencing token, or nothing when the
-- case is another one, or, second, the error of a server that is full: nothing has happened then, and the lock may be ours.
local function take(lock, queue, token, ttlMs, block)
  if redis.call('EXISTS', queue) == 1 then return end
  local taken, full = takeUnqueued(lock, token, ttlMs)
  if not taken then return nil, full end
  return fencingTokens(block)
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
