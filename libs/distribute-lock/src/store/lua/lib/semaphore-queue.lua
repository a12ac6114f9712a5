-- Extends the time for which the places of a process count: until it makes no attempt for a claim window. One attempt
-- counts for all of them.
local function extendPlaces(token)
  redis.call('ZADD', places, now + claimMs, processOf(token) or token)
  redis.call('PEXPIRE', places, queueMs)
end

local function placeEnd(token)
  return tonumber(redis.call('ZSCORE', places, processOf(token) or token) or 0)
end

local MOST_NOTIFIED = PROTOCOL.MOST_HOLDERS_NOTIFIED

-- Sends one message to each other process that holds permits.
local function notifyHolders(token)
  local notified, count = { [processOf(token) or ''] = true }, 0
  for holder in pairs(ends) do
    local process = processOf(holder)
    if process and not notified[process] and count < MOST_NOTIFIED then
      notified[process], count = true, count + 1
      notify(holder, 'c', lock)
    end
  end
end

-- Queues a token; a queued token keeps its place. The process in front is notified, because its later callers queue
-- behind `token`. If the token is the head, the holders are notified: a process that holds all permits would otherwise
-- not learn that another process waits. Returns 0 if the token was queued before; otherwise 1, or 3 if a token of another
-- process is directly before it.
local function enqueue(token)
  local last = tailOf()
  local isNew = redis.call('ZADD', queue, 'NX', arrival + 1, token) == 1
  redis.call('PEXPIRE', queue, queueMs)
  if isNew then tail, arrival = token, arrival + 1 end
  if not last then head = token end
  extendPlaces(token)
  local adjacent = not last or processOf(last) == processOf(token)
  if headOf() == token then
    notifyHolders(token)
  elseif isNew and not adjacent then
    notify(last, 'c', lock)
  end
  return not isNew and 0 or adjacent and 1 or 3
end

-- 1 if another process waits, else 0. Places of the own process are no contention.
local function others(token)
  local process = processOf(token)
  local last = tailOf()
  if not last then return 0 end
  if processOf(last) ~= process then return 1 end
  for _, waiting in ipairs(redis.call('ZRANGE', queue, 0, 'PROTOCOL.MOST_PLACES_SEARCHED')) do
    if processOf(waiting) ~= process then return 1 end
  end
  return 0
end

-- Maximum number of offers of one call.
local MOST_OFFERS = PROTOCOL.MOST_PERMIT_OFFERS
-- The call has reached its bounds, and live processes may be queued behind the removed places.
local stopped

-- The only place where permits are granted. They go to the heads of the queue while they fit. The token `self` comes
-- last if it is not queued. A head that does not fit blocks the tokens behind it. Each token fits within the number of
-- permits that it carries, so no more than the largest of them are in use. Returns whether `self` was served; second,
-- whether a message of an offer reached no subscriber.
local function assign(self, ttlMs)
  local served, offers, reached, removed, missed = false, 0, {}, 0, false
  stopped = false
  while offers < MOST_OFFERS do
    stopped = removed >= MOST_REMOVED
    if stopped then
      -- The process that came last probably responds: it makes an attempt, and its calls remove the rest.
      local last = not self and tailOf()
      if last then notify(last, 'g', lock) end
      return served, missed
    end
    local waiting = headOf()
    local first = waiting or not served and self
    if not first then return served, missed end
    local weight, permits = weightOf(first)
    local isUsable = weight > 0 and weight <= permits
    if not isUsable or weight > permits - used then
      -- A head blocks the queue unless its process does not respond.
      if isUsable and (first == self or placeEnd(first) > now) then return served, missed end
      leaveQueue(first)
      removed = removed + 1
    elseif first == self then
      give(first, now + ttlMs, permits)
      served = true
    else
      -- As for `offer` in offer.lua: an offer without a receiver of its message is short.
      local process = processOf(first) or ''
      give(first, now + claimMs, permits)
      if reached[process] ~= false then reached[process] = notify(first, 'g', lock) ~= 0 end
      if not reached[process] then
        shorten(first, now + shortMs)
        missed = true
      end
      offers = offers + 1
    end
  end
  return served, missed
end

local function serve(self, ttlMs)
  local served, missed = assign(self, ttlMs)
  if missed then wakeNext(lock, queue) end
  return served
end

-- Milliseconds until permits may become free without a message: the first lease or the place of the head ends.
local function left(token)
  if stopped then return 0 end
  local first
  for _, endsAt in pairs(ends) do first = math.min(first or endsAt, endsAt) end
  local ahead = headOf()
  if ahead and ahead ~= token then
    local untilMs = placeEnd(ahead)
    first = math.min(first or untilMs, untilMs)
  end
  return first and math.max(first - now, 0) or -1
end
