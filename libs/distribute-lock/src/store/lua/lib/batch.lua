-- Runs several commands of the common case: each lock is free or held by the command's own token, and none has waiters.
-- One call checks all queues, and all fencing tokens are issued at once. The loop ends at the first command of another
-- case. The commands before it have run and have an entry in `blocks`, their number of fencing tokens.
local blocks = {}
if #ARGV > 1 then
  local call = redis.call
  local queues, total = {}, 0
  -- Commands of one call usually have the same deadline.
  local timely
  for i = 1, #ARGV do queues[i] = KEYS[2 * i + 1] end
  if call('EXISTS', unpack(queues)) == 0 then
    for i = 1, #ARGV do
      local lock, text = KEYS[2 * i], ARGV[i]
      if string.sub(text, 1, 1) == 'd' then
        if redis.pcall('GET', lock) ~= string.sub(text, 3) then break end
        call('DEL', lock)
        blocks[i] = 0
      else
        local token, ttlMs, block, deadlineMs = string.match(text, '^[aw] (%S+) (%d+) (%d+) (%d+)')
        if not token or deadlineMs ~= timely and isLate(deadlineMs) or not takeUnqueued(lock, token, ttlMs) then break end
        timely = deadlineMs
        blocks[i] = tonumber(block)
        total = total + blocks[i]
      end
    end
  end
  if #blocks == #ARGV then
    local first = total == 0 and 0 or fencingTokens(total)
    saveFence()
    return first
  end
end
