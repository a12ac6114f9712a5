--@include lib/take.lua
-- Acquires a lock without a holder and waiters, with few calls. Returns the first fencing token, or nothing in any
-- other case. Second, returns the error of a full server: nothing has changed then, and the lock may belong to the
-- caller.
local function take(lock, queue, token, ttlMs, block)
  if redis.call('EXISTS', queue) == 1 then return end
  local taken, full = takeUnqueued(lock, token, ttlMs)
  if not taken then return nil, full end
  return fencingTokens(block)
end

local function raiseExpiry(lock, ttlMs)
  if redis.call('PTTL', lock) < tonumber(ttlMs) then redis.call('PEXPIRE', lock, ttlMs) end
end

-- Claims a lock that already holds the token: it was offered, or the command is a repetition. Returns the first fencing
-- token and the number of waiting processes; otherwise, third, the owner.
local function claim(lock, queue, token, ttlMs, block)
  local owner = redis.call('GET', lock)
  if owner ~= token then return nil, nil, owner end
  raiseExpiry(lock, ttlMs)
  redis.call('ZREM', queue, token)
  return fencingTokens(block), redis.call('ZCARD', queue)
end
