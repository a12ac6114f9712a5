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

-- The weight is the last part of an owner token, so it never changes. A member of another form is of no process: it has none.
local function weightOf(token)
  return tonumber(string.match(token, ':%w+:(%d+)$') or 0)
end

-- Without the lock key nobody holds: what stands beside it then is void.
local function readLeases()
  ends, used = {}, 0
  local leases = limit and redis.call('ZRANGE', held, '(' .. now, '+inf', 'BYSCORE', 'WITHSCORES') or {}
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

local function leaveQueue(token)
  redis.call('ZREM', queue, token)
  redis.call('ZREM', asked, token)
end

-- The first write of a plain acquire is SET, which a full server refuses. The key has its end from the first moment on.
local function give(token, endsAt, permits)
  ends[token], used = endsAt, used + weightOf(token)
  redis.call('SET', lock, 'semaphore:' .. permits, 'PXAT', lastEnd())
  if not stored then redis.call('UNLINK', held) end
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

-- One call removes no more leases that are over, and no more places.
local MOST_REMOVED = 100

-- What is over goes; the key and the leases end with the last lease, to the millisecond.
local function settle()
  if not limit then return end
  local last = lastEnd()
  if last == 0 then return redis.call('UNLINK', lock, held) end
  local over = redis.call('ZRANGE', held, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_REMOVED)
  if #over > 0 then redis.call('ZREM', held, unpack(over)) end
  expireAt(last)
end
