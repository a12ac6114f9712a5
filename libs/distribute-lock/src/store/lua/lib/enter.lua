--@include lib/clock.lua
--@include lib/take.lua
-- Assigns a free lock to a waiter or to the caller. Returns true if the caller gets it; second, whether the call has
-- reached its bounds.
local function enterFree(token, kind, ttlMs)
  if redis.call('EXISTS', queue) == 1 then
    local owner, mine, more = hand('', kind, token, nil, ttlMs, token)
    if owner or more then return mine, more end
  end
  if kind == 'r' then return beginReading(token, ttlMs, {}) end
  takeServed(lock, token, ttlMs)
  redis.call('UNLINK', readers, gate)
  return true
end

-- Returns whether the reader now holds the lock: it already did, or it may join the other readers.
local function join(token, ttlMs)
  if reads(token) then
    redis.call('ZREM', queue, token)
    lend(token, ttlMs)
    settle()
    letMoreIn()
    return true
  end
  if redis.call('GET', lock) ~= READERS or not mayJoin(token) or not anyoneReads() then return false end
  lend(token, ttlMs)
  settle()
  redis.call('ZREM', queue, token)
  return true
end

-- Number of messages to readers that this call may still send.
local messagesLeft = PROTOCOL.MOST_WARNINGS

-- Notifies the readers that a writer waits for. The others learn it from their renewals.
local function notifyReaders()
  local most = math.min(messagesLeft, PROTOCOL.MOST_READERS_NOTIFIED)
  if most == 0 then return end
  local tokens = redis.call('ZRANGEBYSCORE', readers, '(' .. nowMs(), '+inf', 'LIMIT', 0, most)
  messagesLeft = messagesLeft - #tokens
  for _, token in ipairs(tokens) do notify(token, 'c', lock) end
end

local function enter(token, ttlMs, block, deadlineMs, _, command)
  if isLate(deadlineMs) then return REPLY.TOO_LATE, nowMs(), 0 end
  local kind = isReader(token) and 'r' or 'w'
  local owner = redis.call('GET', lock)
  if owner == token then
    local first, waiting = claim(lock, queue, token, ttlMs, block)
    return REPLY.GRANTED, first, waiting
  end
  local entered, more = kind == 'r' and join(token, ttlMs), false
  if not owner and not entered then entered, more = enterFree(token, kind, ttlMs) end
  if more then return waitBehind(nil, queue, token, command, 0) end
  if entered then
    return REPLY.GRANTED, fencingTokens(block), kind == 'r' and writerWaits() or redis.call('ZCARD', queue)
  end
  owner = owner or redis.call('GET', lock)
  local isReaderBehind = command == 'w' and kind == 'r' and owner == READERS
  local untilMs = isReaderBehind and untilOpen() or redis.call('PTTL', lock)
  local code, leftMs, holder = waitBehind(owner, queue, token, command, untilMs)
  if command == 'w' and owner ~= READERS then
    notify(owner, 'c', lock)
  elseif command == 'w' and kind == 'w' then
    -- A later writer needs no message; a repeated attempt replaces messages that were lost.
    if closeGate() or code == REPLY.STILL_QUEUED then notifyReaders() end
  end
  return code, leftMs, holder
end

-- Takes the lock from its holders. The leases of readers and of permits end, because they count only while the lock key
-- has the value of their kind.
local function steal(token, ttlMs, block, deadlineMs)
  if isLate(deadlineMs) then return REPLY.TOO_LATE, nowMs(), 0 end
  takeServed(lock, token, ttlMs)
  redis.call('UNLINK', readers, gate)
  return REPLY.GRANTED, fencingTokens(block), redis.call('ZCARD', queue)
end
