--[[
  Deletes the lock of a foreign client if its value is unchanged. Waiters repeat their attempts within 250 ms.

  @key  lock: string   value of the foreign client
  @arg  value: string
  @returns 1 if it was deleted, else 0
]]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
