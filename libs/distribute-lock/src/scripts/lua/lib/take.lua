-- The two ways to take a free lock. Without a queue the server itself finds out whether it is free. Answers whether it was; or,
-- second, the error of a server that refuses the write: then nothing has happened.
local function takeUnqueued(lock, token, ttlMs)
  local set = redis.pcall('SET', lock, token, 'NX', 'PX', ttlMs)
  if set and set.err then return false, set end
  return set
end

-- With one: the queue has been served, and the lock is known to be free.
local function takeServed(lock, token, ttlMs)
  redis.call('SET', lock, token, 'PX', ttlMs)
end
