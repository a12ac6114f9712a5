-- Takes a lock without a queue; the server checks whether it is free. Returns whether it was; second, the error of a
-- server that rejects the write: then nothing has changed.
local function takeUnqueued(lock, token, ttlMs)
  local set = redis.pcall('SET', lock, token, 'NX', 'PX', ttlMs)
  if set and set.err then return false, set end
  return set
end

-- Takes a lock after its queue was served, when it is known to be free.
local function takeServed(lock, token, ttlMs)
  redis.call('SET', lock, token, 'PX', ttlMs)
end
