-- `exact` is '=' if the lease may become shorter.
local function renew(lock, queue, token, ttlMs, exact)
  local owner = redis.call('GET', lock)
  if owner ~= token then return REPLY.LOST, owner and 1 or 0, 0 end
  if exact == '=' then redis.call('PEXPIRE', lock, ttlMs) else raiseExpiry(lock, ttlMs) end
  return REPLY.RENEWED, redis.call('ZCARD', queue), 0
end
