-- Also leaves the queue and undoes an attempt. `next` is the token under which this process wants the lock again;
-- '-' grants it to whichever token of this process heads the queue, '' is a process that wants no more.
local function release(lock, queue, token, next, ttlMs, block)
  if next == '' and free(lock, queue, token) then return 4, 0, 0 end
  if redis.call('GET', lock) ~= token then
    redis.call('ZREM', queue, token)
    return 6, 0, 0
  end
  local requeue = next ~= '' and next ~= '-'
  if requeue then
    -- The first write: a server that is full does not refuse it, nor what follows. (A holder stands in no queue.)
    redis.call('ZREM', queue, token)
    append(queue, next)
  end
  local own = next == '-' and processOf(token)
  local head = headOf(queue)
  while head do
    if head == next or (own and processOf(head) == own) then
      redis.call('ZREM', queue, head)
      redis.call('SET', lock, head, 'PX', ttlMs)
      return 8, fencingTokens(tonumber(block)), head
    end
    if offer(lock, queue, head) then
      if requeue then return 2, claimMs, 0 end
      return 5, 0, 0
    end
    head = headOf(queue)
  end
  redis.call('DEL', lock)
  return 4, 0, 0
end
