-- Nobody holds the lock and nobody waits: in as few calls as it takes. A full server refuses the first write, and nothing
-- has happened. Answers the first fencing token, or nothing when the case is another one.
local function take(lock, queue, token, ttlMs, block)
  if redis.call('EXISTS', queue) == 0 and redis.call('SET', lock, token, 'NX', 'PX', ttlMs) then
    return fencingTokens(block)
  end
end
