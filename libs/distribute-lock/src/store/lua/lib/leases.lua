--@include lib/clock.lua
-- Leases of readers, and the gate that stops new readers while a writer waits.
local READERS = 'readers'

-- Whether the token holds a valid lease. An expired lease is never revived, even if it is still stored.
local function reads(token)
  if redis.call('GET', lock) ~= READERS then return false end
  local ends = redis.call('ZSCORE', readers, token)
  return ends and tonumber(ends) > nowMs()
end

-- Whether a reader holds a valid lease. The lock key may hold `readers` without one: in its last millisecond, or after
-- an operator deleted the leases. Holders may still rely on those leases, so no reader may enter and no command may
-- shorten the lock.
local function anyoneReads()
  local ends = redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES')[2]
  return ends and tonumber(ends) > nowMs()
end

-- Grants or extends a lease; never shortens it.
local function lend(token, ms)
  redis.call('ZADD', readers, 'GT', nowMs() + ms, token)
end

-- Removes some expired leases in each call. The lock ends with the last lease, to the millisecond, even if its previous
-- end was later. Returns false if no lease is left: the lock is then free.
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

-- 1 if a writer waits, else 0; reported to readers.
local function writerWaits()
  return redis.call('EXISTS', gate)
end

-- Milliseconds until the leases or the gate end; reported to waiting readers.
local function untilOpen()
  local ms, gateMs = redis.call('PTTL', lock), redis.call('PTTL', gate)
  return gateMs >= 0 and math.min(ms, gateMs) or ms
end

-- The first writer of the queue, and its score.
local function firstWriter(upTo)
  return unpack(redis.call('ZRANGE', queue, 0, upTo or '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'))
end

-- Closes the gate, except for queued readers up to the number `upTo`. It opens by itself when the writer makes no
-- further attempt. Returns whether it was open.
local NO_READER = string.format('%.0f', READERS_FROM)

local function closeGate(upTo)
  if redis.call('PEXPIRE', gate, claimMs) == 1 then return false end
  redis.call('SET', gate, upTo or NO_READER, 'PX', claimMs)
  return true
end

-- The number of the last reader in the queue.
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

-- Maximum number of readers admitted at once; each reader that enters admits the next ones.
local MOST_LET_IN = 100

local function readersInQueue(upTo)
  return redis.call('ZRANGE', queue, '-inf', upTo or '(0', 'BYSCORE', 'LIMIT', 0, MOST_LET_IN, 'WITHSCORES')
end

-- Admits waiting readers, given with their scores. An offer to a reader is a lease, for as long as `offer` says. `own`
-- already has its lease. `lives` is given if unresponsive processes count as dead. Returns false if no reader has a
-- lease.
local function letIn(waiting, own, lives)
  local gone, reached, anyReached, missed = {}, {}, own, false
  for i = 1, #waiting, 2 do
    local token = waiting[i]
    local process = string.sub(token, 1, 22)
    gone[#gone + 1] = token
    if token ~= own and not (lives and not lives[process]) then
      if reached[process] ~= false then reached[process] = notify(token, 'g', lock) ~= 0 end
      lend(token, reached[process] and claimMs or shortMs)
      if reached[process] then anyReached = true else missed = true end
    end
  end
  removeAll(queue, gone)
  if missed and not anyReached then wakeNext(lock, queue) end
  return settle()
end

-- Admits the remaining readers of the current turn.
local function letMoreIn()
  local upTo = redis.call('GET', gate)
  if upTo == NO_READER then return end
  local waiting = readersInQueue(upTo and string.format('(%.0f', upTo + 1))
  if upTo and #waiting < 2 * MOST_LET_IN then redis.call('SET', gate, NO_READER, 'KEEPTTL') end
  if #waiting > 0 then letIn(waiting) end
end
