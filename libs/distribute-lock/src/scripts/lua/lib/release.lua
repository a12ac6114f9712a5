-- Also leaves the queue and undoes an attempt. `next` is the token under which this process wants the lock again;
-- '-' grants it to whichever token of this process heads the queue, '' is a process that wants no more.
-- A release that comes late gives the lock back and hands it over as any other, but gets nothing for its own process.
local function release(lock, queue, token, next, ttlMs, block, deadlineMs)
  if next ~= '' and isLate(deadlineMs) then next = '' end
  local owner = redis.call('GET', lock)
  if owner ~= token then
    -- Who leaves may be the last writer that readers wait for: for the other script.
    if owner == 'readers' then return 11, 0, 0 end
    redis.call('ZREM', queue, token)
    return 6, owner and 1 or 0, 0
  end
  local wanted = next ~= '' and next ~= '-'
  -- Owner tokens of one process begin alike.
  local own = next == '-' and string.sub(token, 1, 23)
  -- The first write: a server that is full does not refuse it, nor what follows.
  local first = redis.call('ZPOPMIN', queue)
  local head = first[1]
  if head and isReader(head) then
    redis.call('ZADD', queue, first[2], head)
    redis.call('PEXPIRE', queue, queueMs)
    return 11, 0, 0
  end
  while head do
    if head == next or (own and string.sub(head, 1, 23) == own) then break end
    if offer(lock, head) then
      if not wanted then return 5, 0, 0 end
      append(queue, next)
      return 2, tonumber(claimMs), 0
    end
    head = redis.call('ZPOPMIN', queue)[1]
  end
  head = head or (wanted and next)
  if not head then
    redis.call('DEL', lock)
    return 4, 0, 0
  end
  redis.call('SET', lock, head, 'PX', ttlMs)
  return 8, fencingTokens(block), head
end
