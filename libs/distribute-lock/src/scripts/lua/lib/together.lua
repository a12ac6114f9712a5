-- Several commands, each of which finds its lock as most do: free, or held by its own token, and wanted by nobody. One look at all
-- queues serves them, and numbers for all are drawn at once. It ends at the first command that finds something else: those
-- before it have been run, and have an entry in `blocks`, the fencing tokens that each of them wants.
local blocks = {}
if #ARGV > 1 then
  local call = redis.call
  local queues, total = {}, 0
  -- Commands of one call have the same deadline as a rule.
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
