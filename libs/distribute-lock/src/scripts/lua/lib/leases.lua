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

-- Leases that are over go, some in each call; the lock ends with the last lease to the millisecond, earlier than before if need be.
-- Answers false when nobody reads: then the lock is free.
local function settle()
  removeAll(readers, redis.call('ZRANGE', readers, '-inf', nowMs(), 'BYSCORE', 'LIMIT', 0, MOST_REMOVED))
  local last, ends = unpack(redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES'))
  if not last or tonumber(ends) <= nowMs() then
    redis.call('UNLINK', lock, gate, readers)
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

-- The first writer of the queue, and its score.
local function firstWriter(upTo)
  return unpack(redis.call('ZRANGE', queue, 0, upTo or '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'))
end

-- Keeps readers out, but for those that stand in the queue up to the number `upTo`. Opens by itself when the writer asks no more.
local NO_READER = string.format('%.0f', READERS_FROM)

local function closeGate(upTo)
  if redis.call('PEXPIRE', gate, claimMs) == 0 then redis.call('SET', gate, upTo or NO_READER, 'PX', claimMs) end
end

-- The number of the reader that came last.
local function lastReader()
  local last = redis.call('ZRANGE', queue, '(0', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  return last and string.format('%.0f', math.floor(last))
end

-- Whether a reader may join: no writer waits, or the gate lets it in.
local function mayJoin(token)
  local upTo = redis.call('GET', gate)
  if not upTo or upTo == NO_READER then return not upTo end
  local score = redis.call('ZSCORE', queue, token)
  return score and math.floor(score) <= tonumber(upTo)
end

-- Readers take turns of so many: each that enters lets the next ones in.
local MOST_LET_IN = 100

local function readersInQueue(upTo)
  return redis.call('ZRANGE', queue, '-inf', upTo or '(0', 'BYSCORE', 'LIMIT', 0, MOST_LET_IN, 'WITHSCORES')
end

-- The turn of readers that wait (with their scores): an offer to a reader is a lease for the claim window. `own` needs none, it has
-- its lease. `lives` is given where silent processes count as dead.
local function letIn(waiting, own, lives)
  local gone, dead = {}, {}
  for i = 1, #waiting, 2 do
    local token = waiting[i]
    local process = string.sub(token, 1, 22)
    gone[#gone + 1] = token
    if token ~= own and not dead[process] and not (lives and not lives[process]) then
      lend(token, claimMs)
      if tell(token, 'g', lock) == 0 then
        dead[process] = true
        redis.call('ZREM', readers, token)
      end
    end
  end
  removeAll(queue, gone)
  return settle()
end

-- Lets those in who are left of the turn.
local function letMoreIn()
  local upTo = redis.call('GET', gate)
  if upTo == NO_READER then return end
  local waiting = readersInQueue(upTo and string.format('(%.0f', upTo + 1))
  if upTo and #waiting < 2 * MOST_LET_IN then redis.call('SET', gate, NO_READER, 'KEEPTTL') end
  if #waiting > 0 then letIn(waiting) end
end
