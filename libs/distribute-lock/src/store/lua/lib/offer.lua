-- Offers the lock to a waiter, which has left the queue: the key holds its token for the claim window. The waiter claims
-- the offer by acquire. If the message reaches no subscriber, the offer is short and the next process is notified. The
-- number of receivers decides nothing else, because a subscription to another server is not counted here. The waiter
-- then keeps its place, as if it had made no attempt for a claim window: it leaves the queue unless its process makes
-- another one. Returns the milliseconds of the offer.
local function offer(lock, queue, head, score)
  redis.call('SET', lock, head, 'PX', claimMs)
  if notify(head, 'g', lock) ~= 0 then return tonumber(claimMs) end
  redis.call('PEXPIRE', lock, shortMs)
  wakeNext(lock, queue)
  redis.call('ZADD', queue, math.floor(score) + (nowMs() - tonumber(claimMs)) % STAMPS / STAMPS, head)
  redis.call('PEXPIRE', queue, queueMs)
  return tonumber(shortMs)
end

-- Bounds of one call: tokens that it reads from a queue, and tokens of unresponsive processes that it removes.
local MOST_READ, MOST_REMOVED = PROTOCOL.MOST_SILENT_READ, PROTOCOL.MOST_SILENT_REMOVED

local function removeAll(queue, tokens)
  if #tokens > 0 then redis.call('ZREM', queue, unpack(tokens)) end
end

-- Offers the lock to the first writer, up to a score, whose process made an attempt in the last claim window. `origin`
-- is a token of the caller, whose process responds. Returns the new holder, or the first token for which `isOwn` is
-- true, which the caller serves. Otherwise, second, returns whether live processes may be queued behind the tokens that
-- were read.
local function offerToNext(lock, queue, upTo, origin, isOwn)
  local waiting = redis.call('ZRANGE', queue, 0, upTo, 'BYSCORE', 'LIMIT', 0, MOST_READ, 'WITHSCORES')
  local lives, removed, found, score = liveProcesses(waiting, origin), {}, nil, nil
  for i = 1, #waiting, 2 do
    local token = waiting[i]
    if not lives[string.sub(token, 1, 22)] then
      if #removed < MOST_REMOVED then removed[#removed + 1] = token end
    elseif not found then
      found, score = token, waiting[i + 1]
    end
  end
  removeAll(queue, removed)
  if not found then return nil, #waiting == 2 * MOST_READ end
  redis.call('ZREM', queue, found)
  if not isOwn(found) then offer(lock, queue, found, score) end
  return found
end
