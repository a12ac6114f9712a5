-- An offer is the lock already carrying the waiter's token, for the claim window: the waiter, who has left the queue, claims
-- it by acquire, or begins at once and renews it. For that the message has the first of a few fencing tokens. Answers false
-- when the waiter's process is gone.
local function offer(lock, head)
  redis.call('SET', lock, head, 'PX', claimMs)
  local granted = 'g' .. string.format('%.0f', fencingTokens(offeredNumbers))
  if tell(head, granted, lock) ~= 0 then return true end
  redis.call('DEL', lock)
  return false
end

-- Bounds of one call: tokens that it reads of a queue, once; tokens of dead processes that it removes; offers in vain.
local MOST_READ, MOST_REMOVED, MOST_OFFERS = 1000, 100, 64

local function removeAll(queue, tokens)
  if #tokens > 0 then redis.call('ZREM', queue, unpack(tokens)) end
end

-- The head of the queue does not respond: offers the lock to the writers behind it up to a score, in their order, but to no second
-- token of a process that could not be reached. `gone` is such a process. `asker`, a token of the caller, is given where processes count as
-- dead that have not asked for a claim window. Answers the token that has the lock now, or the first that `isOwn`, which the
-- caller serves; or else, second, whether live processes may stand behind the tokens that were looked at.
local function offerToNext(lock, queue, upTo, gone, asker, isOwn)
  local waiting = redis.call('ZRANGE', queue, 0, upTo, 'BYSCORE', 'LIMIT', 0, MOST_READ, 'WITHSCORES')
  local lives = asker and liveProcesses(waiting, asker)
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

-- A call has reached its bounds with the lock free. The last token belongs to the process that came last, which probably lives:
-- it asks, and its calls remove the rest.
local function wakeLast(lock, queue)
  local last = redis.call('ZRANGE', queue, -1, -1)[1]
  if last then tell(last, 'g', lock) end
end
