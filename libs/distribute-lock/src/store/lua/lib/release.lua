-- Releases the lock, removes the token from the queue, or undoes an attempt. `next` is the next token of this process.
-- '-' grants the lock to the head of the queue if it belongs to this process; '' means no further attempt. A late
-- release also hands the lock over, but grants nothing to its own process.
local function release(lock, queue, token, next, ttlMs, block, deadlineMs)
  if next ~= '' and isLate(deadlineMs) then next = '' end
  local owner = redis.call('GET', lock)
  if owner ~= token then
    -- The token may be that of the last waiting writer, which `readwrite.lua` must handle.
    if owner == 'readers' then return REPLY.DELEGATED, 0, 0 end
    redis.call('ZREM', queue, token)
    return REPLY.LOST, owner and 1 or 0, 0
  end
  local wanted = next ~= '' and next ~= '-'
  -- Owner tokens of one process share a prefix.
  local own = next == '-' and string.sub(token, 1, 23)
  local function isOwn(waiting)
    return waiting == next or (own and string.sub(waiting, 1, 23) == own)
  end
  -- A full server accepts this first write and all later writes.
  local head, score = unpack(redis.call('ZPOPMIN', queue))
  -- The waiter gives up an offer of which it received no message, so it is still queued.
  if head == token then head, score = unpack(redis.call('ZPOPMIN', queue)) end
  if head and isReader(head) then
    redis.call('ZADD', queue, score, head)
    redis.call('PEXPIRE', queue, queueMs)
    return REPLY.DELEGATED, 0, 0
  end
  if head and not isOwn(head) then
    if wanted then append(queue, next, math.floor(score)) end
    local offeredMs = offer(lock, queue, head, score)
    if wanted then return REPLY.QUEUED, offeredMs, 0 end
    return REPLY.PASSED, 0, 0
  end
  head = head or (wanted and next)
  if not head then
    redis.call('DEL', lock)
    return REPLY.FREE, 0, 0
  end
  redis.call('SET', lock, head, 'PX', ttlMs)
  return REPLY.GRANTED_NEXT, fencingTokens(block), head
end
