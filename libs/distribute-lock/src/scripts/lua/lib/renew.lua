local function renew(lock, queue, token, ttlMs)
  if redis.call('GET', lock) ~= token then return 6, 0, 0 end
  raiseExpiry(lock, ttlMs)
  return 7, redis.call('ZCARD', queue), 0
end
