--@include lib/clock.lua
-- What the command under way sees: the semaphore is looked at once, and every change is made here and in the server.
local lock, held, queue, asked
-- What stands at the key (false: nothing), and the permits that it names, unless it is something else.
local stored, limit
-- Ends of the leases that are not over, offers among them, and the sum of their weights: there is no counter to drift.
local ends, used

-- One moment for all commands of the call.
local now = nowMs()

local function look(i)
  lock, held, queue, asked = KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i], KEYS[4 * i + 1]
  stored = redis.call('GET', lock)
  limit = stored and tonumber(string.match(stored, '^semaphore:(%d+)$'))
end

-- The weight is the last part of an owner token, so it never changes.
local function weightOf(token)
  return tonumber(string.match(token, '%d+$'))
end

-- Without the lock key nobody holds: what stands beside it then is void.
local function readLeases()
  ends, used = {}, 0
  local leases = limit and redis.call('ZRANGE', held, 0, -1, 'WITHSCORES') or {}
  for i = 1, #leases, 2 do
    local endsAt = tonumber(leases[i + 1])
    if endsAt > now then ends[leases[i]], used = endsAt, used + weightOf(leases[i]) end
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

local function leaveQueue(token)
  redis.call('ZREM', queue, token)
  redis.call('ZREM', asked, token)
end

-- The first write of a plain acquire is SET, which a full server refuses. The key has its end from the first moment on.
local function give(token, endsAt, permits)
  ends[token], used = endsAt, used + weightOf(token)
  redis.call('SET', lock, 'semaphore:' .. permits, 'PXAT', lastEnd())
  if not stored then redis.call('DEL', held) end
  stored, limit = true, permits
  leaveQueue(token)
  redis.call('ZADD', held, endsAt, token)
end

local function takeBack(token)
  if not ends[token] then return end
  ends[token], used = nil, used - weightOf(token)
  redis.call('ZREM', held, token)
end

-- Raises an end, never lowers it. A server that is full does not refuse the first write, nor what follows.
local function raise(token, ttlMs)
  local endsAt = now + ttlMs
  if endsAt <= ends[token] then return end
  ends[token] = endsAt
  expireAt(lastEnd())
  redis.call('ZADD', held, endsAt, token)
end

-- What is over goes; the key and the leases end with the last lease, to the millisecond.
local function settle()
  if not limit then return end
  local last = lastEnd()
  if last == 0 then return redis.call('DEL', lock, held) end
  redis.call('ZREMRANGEBYSCORE', held, '-inf', now)
  expireAt(last)
end
