--@include lib/clock.lua
-- The leases of readers, and the gate that keeps new ones out while a writer waits.
local READERS = 'readers'

-- A lease that has ended is never revived, though it may still stand there.
local function reads(token)
  if redis.call('GET', lock) ~= READERS then return false end
  local ends = redis.call('ZSCORE', readers, token)
  return ends and tonumber(ends) > nowMs()
end

-- The lock key may say `readers` without one: in its last millisecond, or when a hand deleted the leases. Then it stands for
-- leases that their holders believe in, and nobody may enter or shorten it.
local function anyoneReads()
  local ends = redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES')[2]
  return ends and tonumber(ends) > nowMs()
end

-- Never shortens the lease of a token.
local function lend(token, ms)
  redis.call('ZADD', readers, 'GT', nowMs() + ms, token)
end

-- Leases that are over go; the lock ends with the last lease to the millisecond, earlier than before if need be.
-- Answers false when nobody reads: then the lock is free.
local function settle()
  redis.call('ZREMRANGEBYSCORE', readers, '-inf', nowMs())
  local ends = redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES')[2]
  if not ends then
    redis.call('DEL', lock, gate)
    return false
  end
  redis.call('PEXPIREAT', lock, ends)
  redis.call('PEXPIREAT', readers, ends)
  return true
end

-- For a reader, whether a writer waits.
local function writerWaits()
  return redis.call('EXISTS', gate)
end

-- For a reader that waits: until the leases or the gate end.
local function untilOpen()
  local ms, gateMs = redis.call('PTTL', lock), redis.call('PTTL', gate)
  return gateMs >= 0 and math.min(ms, gateMs) or ms
end

-- Opens by itself when the writer asks no more.
local function closeGate()
  redis.call('SET', gate, 1, 'PX', claimMs)
end

-- Readers and writers that wait, each in order, and whether a reader waits longest.
local function inQueue()
  local waiting = redis.call('ZRANGE', queue, 0, -1, 'WITHSCORES')
  local reading, writing, oldest = {}, {}, {}
  for i = 1, #waiting, 2 do
    local line = isReader(waiting[i]) and reading or writing
    line[#line + 1] = waiting[i]
    oldest[line] = oldest[line] or tonumber(waiting[i + 1])
  end
  return reading, writing, reading[1] and (not writing[1] or oldest[reading] - READERS_FROM < oldest[writing])
end

-- Everybody's turn to read: an offer to a reader is a lease for the claim window. `own` needs none, it has its lease.
local function letIn(waiting, own)
  for _, token in ipairs(waiting) do
    redis.call('ZREM', queue, token)
    if token ~= own then
      lend(token, claimMs)
      if tell(token, 'g', lock) == 0 then redis.call('ZREM', readers, token) end
    end
  end
  return settle()
end
