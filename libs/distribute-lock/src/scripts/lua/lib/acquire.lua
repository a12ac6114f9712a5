-- A free lock goes to the first live process in the queue; whoever asks helps with that.
-- Answers the new owner when it is another process; or, second, that a reader is next, which is for the other script.
local function offerToHead(lock, queue, token)
  local head = redis.call('ZRANGE', queue, 0, 0)[1]
  while head and head ~= token do
    if isReader(head) then return nil, true end
    redis.call('ZREM', queue, head)
    if offer(lock, head) then return head end
    head = redis.call('ZRANGE', queue, 0, 0)[1]
  end
end

local function acquire(lock, queue, token, ttlMs, block, deadlineMs, _, command)
  if isLate(deadlineMs) then return 14, nowMs(), 0 end
  local taken, full = take(lock, queue, token, ttlMs, block)
  if taken then return 1, taken, 0 end
  local claimed, waiting, owner = claim(lock, queue, token, ttlMs, block)
  if claimed then return 1, claimed, waiting end
  if full then error(full) end
  if not owner and removeSilent(queue, token) then return waitBehind(nil, queue, token, command, 0) end
  if not owner then
    local readerIsNext
    owner, readerIsNext = offerToHead(lock, queue, token)
    if readerIsNext then return 11, 0, 0 end
  end
  if not owner then
    takeServed(lock, token, ttlMs)
    redis.call('ZREM', queue, token)
    return 1, fencingTokens(block), redis.call('ZCARD', queue)
  end
  local permits = string.match(owner, '^semaphore:(%d+)$')
  if permits then
    redis.call('ZREM', queue, token)
    return 10, tonumber(permits), 0
  end
  if command == 'w' and owner == 'readers' then return 11, 0, 0 end
  local code, leftMs, holder = waitBehind(owner, queue, token, command, redis.call('PTTL', lock))
  if command == 'w' then tell(owner, 'c', lock) end
  return code, leftMs, holder
end
