--[[
  Deletes the lock of a foreign client if its value is unchanged. Waiters repeat their attempts within 250 ms.

  @key  lock: string     value of the foreign client
  @key  readers: zset    leases of readers
  @key  held: zset       leases of permits
  @arg  value: string
  @returns 1 if it was deleted, else 0
]]
local value = ARGV[1]
if redis.call('GET', KEYS[1]) ~= value then return 0 end
-- A lock with leases has come in between, whose value looks like that of the foreign client.
local isKind = value == 'readers' or string.find(value, '^semaphore:%d+$')
if isKind and redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 then return 0 end
return redis.call('DEL', KEYS[1])
