-- A free lock goes to the first live process in the queue; whoever asks helps with that.
-- Answers the new owner when it is another process.
local function offerToHead(lock, queue, token)
  local head = redis.call('ZRANGE', queue, 0, 0)[1]
  while head and head ~= token do
    redis.call('ZREM', queue, head)
    if offer(lock, head) then return head end
    head = redis.call('ZRANGE', queue, 0, 0)[1]
  end
end

local function acquire(lock, queue, token, ttlMs, block, _, command)
  local taken, full = take(lock, queue, token, ttlMs, block)
  if taken then return 1, taken, 0 end
  local claimed, waiting, owner = claim(lock, queue, token, ttlMs, block)
  if claimed then return 1, claimed, waiting end
  if full then error(full) end
  local permits = owner and string.match(owner, '^semaphore:(%d+)$')
  if permits then
    redis.call('ZREM', queue, token)
    return 10, tonumber(permits), 0
  end
  owner = owner or offerToHead(lock, queue, token)
  if not owner then
    redis.call('SET', lock, token, 'PX', ttlMs)
    redis.call('ZREM', queue, token)
    return 1, fencingTokens(block), redis.call('ZCARD', queue)
  end
  local foreign = processOf(owner) and 0 or 1
  if command == 'a' then return 3, redis.call('PTTL', lock), foreign end
  append(queue, token)
  if foreign == 0 then tell(owner, 'c', lock) end
  return 2, redis.call('PTTL', lock), foreign
end
