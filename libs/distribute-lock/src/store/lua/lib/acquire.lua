-- Offers a free lock to the first live process in the queue; every attempt does so. Returns the new owner if it is
-- another process; second, whether the call has reached its bounds; third, whether a reader is next, which
-- `readwrite.lua` must handle.
local function offerToHead(lock, queue, token)
  local head, score = unpack(redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES'))
  if not head or head == token then return end
  if isReader(head) then return nil, nil, true end
  if not isSilent(score) then
    redis.call('ZREM', queue, head)
    offer(lock, queue, head, score)
    return head
  end
  local found, more = offerToNext(lock, queue, '+inf', token, function(waiting) return waiting == token end)
  if found then return found ~= token and found or nil end
  return nil, more
end

local function acquire(lock, queue, token, ttlMs, block, deadlineMs, _, command)
  if isLate(deadlineMs) then return REPLY.TOO_LATE, nowMs(), 0 end
  local taken, full = take(lock, queue, token, ttlMs, block)
  if taken then return REPLY.GRANTED, taken, 0 end
  local claimed, waiting, owner = claim(lock, queue, token, ttlMs, block)
  if claimed then return REPLY.GRANTED, claimed, waiting end
  if full then error(full) end
  if not owner then
    local more, readerIsNext
    owner, more, readerIsNext = offerToHead(lock, queue, token)
    if readerIsNext then return REPLY.DELEGATED, 0, 0 end
    if more then return waitBehind(nil, queue, token, command, 0) end
  end
  if not owner then
    takeServed(lock, token, ttlMs)
    redis.call('ZREM', queue, token)
    return REPLY.GRANTED, fencingTokens(block), redis.call('ZCARD', queue)
  end
  if command == 'w' and owner == 'readers' then return REPLY.DELEGATED, 0, 0 end
  local code, leftMs, holder = waitBehind(owner, queue, token, command, redis.call('PTTL', lock))
  if command == 'w' then notify(owner, 'c', lock) end
  return code, leftMs, holder
end
