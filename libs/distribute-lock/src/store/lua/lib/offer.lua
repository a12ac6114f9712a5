-- Offers the lock: the key holds the token of the waiter for the claim window. The waiter has left the queue. It claims
-- the offer by acquire. Returns false if the process of the waiter is gone.
local function offer(lock, head)
  redis.call('SET', lock, head, 'PX', claimMs)
  if notify(head, 'g', lock) ~= 0 then return true end
  redis.call('DEL', lock)
  return false
end

-- Bounds of one call: tokens that it reads from a queue (once), tokens of dead processes that it removes, and failed
-- offers.
local MOST_READ, MOST_REMOVED, MOST_OFFERS = PROTOCOL.MOST_SILENT_READ, PROTOCOL.MOST_SILENT_REMOVED, 64

local function removeAll(queue, tokens)
  if #tokens > 0 then redis.call('ZREM', queue, unpack(tokens)) end
end

-- Offers the lock to the writers behind an unresponsive head, in their order, up to a score. A process that could not
-- be reached gets no second offer. `gone` is such a process. `origin` is a token of the caller; it is given if processes
-- without an attempt in the last claim window count as dead. Returns the new holder, or the first token for which
-- `isOwn` is true, which the caller serves. Otherwise, second, returns whether live processes may be queued behind the
-- tokens that were read.
local function offerToNext(lock, queue, upTo, gone, origin, isOwn)
  local waiting = redis.call('ZRANGE', queue, 0, upTo, 'BYSCORE', 'LIMIT', 0, MOST_READ, 'WITHSCORES')
  local lives = origin and liveProcesses(waiting, origin)
  local dead, removed, offers, found = { [gone or ''] = true }, {}, 0, nil
  for i = 1, #waiting, 2 do
    local token = waiting[i]
    local process = string.sub(token, 1, 22)
    if not found and isOwn(token) then
      redis.call('ZREM', queue, token)
      found = token
    elseif (lives and not lives[process]) or (not found and dead[process]) then
      if #removed < MOST_REMOVED then removed[#removed + 1] = token end
    elseif not found then
      redis.call('ZREM', queue, token)
      if offer(lock, token) then found = token end
      dead[process], offers = true, offers + 1
    end
    if (found and not lives) or offers == MOST_OFFERS then break end
  end
  removeAll(queue, removed)
  return found, offers == MOST_OFFERS or #waiting == 2 * MOST_READ
end

-- Notifies the last token when a call reaches its bounds with the lock free. The process that came last probably
-- responds: it makes an attempt, and its calls remove the rest.
local function wakeLast(lock, queue)
  local last = redis.call('ZRANGE', queue, -1, -1)[1]
  if last then notify(last, 'g', lock) end
end
