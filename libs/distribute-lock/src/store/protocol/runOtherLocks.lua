-- Completes a single command for a lock without waiters, with the results of `runAlone` in locks.ts. Redis creates each
-- function of a script in every call, so this part has none. Its benchmark is the lone lock of `npm run bench -- --quick`.
if #KEYS == 3 then
  local call, lock, text = redis.call, KEYS[2], ARGV[1]
  if string.sub(text, 1, 1) == 'd' then
    if call('EXISTS', KEYS[3]) == 0 and call('GET', lock) == string.sub(text, 3) then
      call('DEL', lock)
      return 0
    end
  elseif string.sub(text, -1) == '+' then
    local token, ttlMs, block, deadlineMs = string.match(text, '^[aw] (%S+) (%d+) (%d+) (%d+) %+$')
    if token and call('EXISTS', KEYS[3]) == 0 then
      local time = deadlineMs == '0' or call('TIME')
      if time == true or time[1] * 1000 + time[2] / 1000 <= tonumber(deadlineMs) then
        local set = redis.pcall('SET', lock, token, 'NX', 'PX', ttlMs)
        local last = set and not set.err and redis.pcall('INCRBY', KEYS[1], block)
        if type(last) == 'number' and last > 0 and last < 9007199250000000 then return last - block + 1 end
      end
    end
  end
end
