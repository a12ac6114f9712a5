-- A lock that nobody else wants, alone: so common that it does without any function.
if #KEYS == 3 then
  local call, text = redis.call, ARGV[1]
  if string.sub(text, 1, 1) == 'd' then
    if call('EXISTS', KEYS[3]) == 0 and call('GET', KEYS[2]) == string.sub(text, 3) then
      call('DEL', KEYS[2])
      return 0
    end
  else
    local token, ttlMs, block = string.match(text, '^[aw] (%S+) (%d+) (%d+) %+$')
    if token and call('EXISTS', KEYS[3]) == 0 then
      local set = redis.pcall('SET', KEYS[2], token, 'NX', 'PX', ttlMs)
      -- Counting is cheaper than a look at the clock. Where it is refused, what follows asks the clock: the lock is ours already.
      local last = set and not set.err and redis.pcall('INCRBY', KEYS[1], block)
      if type(last) == 'number' then return last - block + 1 end
    end
  end
end
