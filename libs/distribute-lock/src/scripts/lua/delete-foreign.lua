--[[
  Deletes a lock that a foreign client holds, if it still says what was seen. Whoever waits for it asks within a quarter of a second.

  @key  lock: string   what the foreign client wrote
  @arg  value: string
  @returns 1 if it was deleted, else 0
]]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
