-- A single command for a lock without waiters. The case is so common that it uses as few function calls as possible.
local isAlone, text = #KEYS == 3, ARGV[1]
if isAlone and string.sub(text, 1, 1) == 'd' then
  local call = redis.call
  if call('EXISTS', KEYS[3]) == 0 and call('GET', KEYS[2]) == string.sub(text, 3) then
    call('DEL', KEYS[2])
    return 0
  end
end
--@include lib/clock.lua
--@include lib/take.lua
if isAlone then
  local token, ttlMs, block, deadlineMs = string.match(text, '^[aw] (%S+) (%d+) (%d+) (%d+) %+$')
  if token and redis.call('EXISTS', KEYS[3]) == 0 and not isLate(deadlineMs) then
    local taken = takeUnqueued(KEYS[2], token, ttlMs)
    -- An increment is cheaper than writing the clock. If the server rejects it, the code below writes the clock; the
    -- lock is already taken.
    local last = taken and redis.pcall('INCRBY', KEYS[1], block)
    if type(last) == 'number' and last > 0 and last < 9007199250000000 then return last - block + 1 end
  end
end
