local function renew(lock, queue, token, ttlMs)
  local owner = redis.call('GET', lock)
  if owner ~= token then return 6, owner and 1 or 0, 0 end
  raiseExpiry(lock, ttlMs)
  return 7, redis.call('ZCARD', queue), 0
end
