-- A place counts until its process has been silent for a claim window.
local function ask(token)
  redis.call('ZADD', asked, now + claimMs, token)
  redis.call('PEXPIRE', asked, queueMs)
end

local function enqueue(token)
  append(queue, token)
  ask(token)
end

local function stillAsks(token)
  local untilMs = redis.call('ZSCORE', asked, token)
  return untilMs and tonumber(untilMs) > now
end

local MOST_TOLD = 32

-- 1: another process waits. The places of the own process are no contention.
local function others(token)
  for _, waiting in ipairs(redis.call('ZRANGE', queue, 0, MOST_TOLD)) do
    if processOf(waiting) ~= processOf(token) then return 1 end
  end
  return 0
end

-- For a grant: 1 if another process waits, and 2 if the own process holds every permit.
local function state(token)
  local own = 0
  for holder in pairs(ends) do
    if processOf(holder) == processOf(token) then own = own + weightOf(holder) end
  end
  return others(token) + (own >= limit and 2 or 0)
end

-- Offers of one call; whoever claims one goes on. And offers in vain.
local MOST_OFFERS, MOST_IN_VAIN = 32, 64
-- The call has removed as many places as it may, and live processes may stand behind them.
local stopped

-- The only place where permits are given: to the heads of the queue while they fit, and to `self`, who stands behind the queue
-- if it is not in it. Nobody behind a head that does not fit is looked at. Answers whether `self` was served.
local function serve(permits, self, ttlMs)
  local served, offers, dead, removed, vain = false, 0, {}, 0, 0
  stopped = false
  while offers < MOST_OFFERS do
    stopped = removed >= MOST_REMOVED or vain >= MOST_IN_VAIN
    if stopped then
      -- The process that came last probably lives: it asks, and its calls remove the rest.
      local last = not self and redis.call('ZRANGE', queue, -1, -1)[1]
      if last then tell(last, 'g', lock) end
      return served
    end
    local head = redis.call('ZRANGE', queue, 0, 0)[1]
    local free = permits - used
    if not head then
      if not self or served or weightOf(self) > free then return served end
      head = self
    end
    if weightOf(head) > free then
      -- Heavier than all permits (it asked under another limit), or dead: it would stop the queue.
      if weightOf(head) <= permits and (head == self or stillAsks(head)) then return served end
      leaveQueue(head)
      removed = removed + 1
    elseif head ~= self and dead[processOf(head) or ''] then
      leaveQueue(head)
      removed = removed + 1
    elseif head == self then
      give(head, now + ttlMs, permits)
      served = true
    else
      give(head, now + claimMs, permits)
      -- Its process begins at once, with this fencing token, or claims it. `+`: another process waits.
      local granted = 'g' .. string.format('%.0f', fencingTokens(1)) .. (others(head) == 1 and '+' or '')
      if tell(head, granted, lock) == 0 then
        takeBack(head)
        dead[processOf(head) or ''], vain = true, vain + 1
      else
        offers = offers + 1
      end
    end
  end
  return served
end

-- Milliseconds until permits may come free without a message: the first lease ends, or the place of the head.
local function left(token)
  if stopped then return 0 end
  local first
  for _, endsAt in pairs(ends) do first = math.min(first or endsAt, endsAt) end
  local head = redis.call('ZRANGE', queue, 0, 0)[1]
  if head and head ~= token then
    local untilMs = tonumber(redis.call('ZSCORE', asked, head) or now)
    first = math.min(first or untilMs, untilMs)
  end
  return first and math.max(first - now, 0) or -1
end

-- Once to each other process that holds.
local function tellHolders(token)
  local told, count = { [processOf(token) or ''] = true }, 0
  for holder in pairs(ends) do
    local process = processOf(holder)
    if process and not told[process] and count < MOST_TOLD then
      told[process], count = true, count + 1
      tell(holder, 'c', lock)
    end
  end
end
