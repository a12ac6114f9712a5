--@include lib/clock.lua
-- State of one semaphore, shared by its commands. It is read once; every change is made here and in the server.
local lock, held, queue, places
-- Value of the lock key (false: none), and the number of permits in it (nil: a lock of another kind).
local stored, limit
-- Ends of the valid leases, including offers, and the sum of their weights. A stored counter could drift.
local ends, used
-- Whether the leases may have changed or one may have expired.
local unsettled
-- Head and tail of the queue, as far as they are known (false: it is empty), and the number of the last arrival.
local head, tail, arrival

-- All commands of a call use the same time.
local now = nowMs()

local function look(i)
  lock, held, queue, places = KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i], KEYS[4 * i + 1]
  stored = redis.call('GET', lock)
  limit = stored and tonumber(string.match(stored, '^semaphore:(%d+)$'))
  ends, used, unsettled, head, tail, arrival = nil, 0, false, nil, nil, nil
end

-- The weight of an owner token and the total number of permits that its caller knows. Both are in the token, so they
-- never change. A member of another form has no weight.
local function weightOf(token)
  local permits, weight = string.match(token, ':[%l%d]+P(%d+):(%d+)$')
  return tonumber(weight or 0), tonumber(permits)
end

-- Reads the valid leases. Without the lock key no lease is valid.
local function readLeases()
  if ends then return end
  local leases = limit and redis.call('ZRANGE', held, '(' .. now, '+inf', 'BYSCORE', 'WITHSCORES') or {}
  -- Set after the read: leases that could not be read have not expired.
  ends = {}
  for i = 1, #leases, 2 do
    local endsAt = tonumber(leases[i + 1])
    local weight = weightOf(leases[i])
    if weight > 0 then ends[leases[i]], used = endsAt, used + weight end
  end
end

local function lastEnd()
  local last = 0
  for _, endsAt in pairs(ends) do last = math.max(last, endsAt) end
  return last
end

local function expireAt(last)
  redis.call('PEXPIREAT', lock, last)
  redis.call('PEXPIREAT', held, last)
end

local function headOf()
  if head == nil then head = redis.call('ZRANGE', queue, 0, 0)[1] or false end
  return head
end

local function tailOf()
  if tail == nil then
    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')
    tail, arrival = last[1] or false, tonumber(last[2] or 0)
  end
  return tail
end

local function leaveQueue(token)
  if redis.call('ZREM', queue, token) == 0 then return end
  if redis.call('EXISTS', queue) == 0 then redis.call('UNLINK', places) end
  if token == head then head = nil end
  if token == tail then tail = nil end
end

-- Grants permits; the lock key gets the number of permits of the latest grant. A full server rejects the first write of
-- a plain acquire. The key always has an expiry.
local function give(token, endsAt, permits)
  local weight = weightOf(token)
  ends[token], used = endsAt, used + weight
  if limit ~= permits then redis.call('SET', lock, 'semaphore:' .. permits, 'PXAT', lastEnd()) end
  if not stored then redis.call('UNLINK', held) end
  redis.call('ZADD', held, endsAt, token)
  if not stored then redis.call('PEXPIREAT', held, endsAt) end
  stored, limit = true, permits
  leaveQueue(token)
end

local function takeBack(token)
  if not ends[token] then return end
  local weight = weightOf(token)
  ends[token], used = nil, used - weight
  redis.call('ZREM', held, token)
end

local function shorten(token, endsAt)
  ends[token] = endsAt
  redis.call('ZADD', held, endsAt, token)
  expireAt(lastEnd())
end

-- Extends a lease, never shortens it. A full server accepts the first write and all later writes.
local function raise(token, ttlMs)
  local endsAt = now + ttlMs
  if endsAt <= ends[token] then return end
  ends[token] = endsAt
  expireAt(lastEnd())
  redis.call('ZADD', held, endsAt, token)
end

-- Maximum number of expired leases, and of places, that one call removes.
local MOST_REMOVED = 100

-- Removes expired leases; the lock key and the leases end with the last lease, to the millisecond.
local function settle()
  if not unsettled or not limit or not ends then return end
  unsettled = false
  local last = lastEnd()
  if last == 0 then
    redis.call('UNLINK', lock, held)
    stored, limit, ends = false, nil, nil
    return
  end
  local over = redis.call('ZRANGE', held, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_REMOVED)
  if #over > 0 then redis.call('ZREM', held, unpack(over)) end
  expireAt(last)
end

-- Runs between commands of one semaphore: without holders no state may remain.
local function settleIfFree()
  if ends and not next(ends) then settle() end
end
