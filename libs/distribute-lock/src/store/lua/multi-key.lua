--[[
  Acquires several exclusive locks for one caller: all of them or none.

  Every command is idempotent by owner token, so it may be sent again. All times are those of the server.
  If a lock is held or has waiters, nothing changes; lock.lua then acquires the locks one after another.

  @key  fence: string       last fencing token that was issued, one for all locks of a prefix; never expires (in a Cluster that of the first lock)
  @key  lock...: string     owner token of the holder, or the value of a foreign client; expires with the lease
  @key  queue...: zset      waiting owner tokens; read only
  @key  own...: string      in a Cluster only: last fencing token of this lock; expires some time after the last grant
  @arg  command...: string  <ttlMs> <deadlineMs> <ownerToken> ..., one token for each pair (in a Cluster three) of keys, in their order
  @returns [code, x, y] for each command, in one flat list

  GRANTED, n, 0        granted: n is the fencing token of the first lock, n + 1 that of the second, and so on
  BUSY, ms, 0          nothing changed: a lock is held or has waiters; its lease ends in ms (-1: unknown)
  REFUSED, e, 0        refused; e is the error of the server
  TOO_LATE, c, 0       too late: the deadline, as in lock.lua, has passed; nothing changed; c is the server's clock in ms
]]
local fence = KEYS[1]
--@include lib/fencing.lua
--@include lib/take.lua

-- A lock with the token already belongs to the caller: the command is a repetition.
local function isFree(lock, queue, token)
  local owner = redis.call('GET', lock)
  if owner == token then return true end
  return not owner and redis.call('EXISTS', queue) == 0
end

-- Number of keys per lock.
local stride = fenceMs and 3 or 2

-- In a Cluster each lock has a separate counter. The numbers start after the largest of them, and all counters are
-- raised.
local function numbersFor(first, count)
  local number = fencingTokens(count)
  if not fenceMs then return number end
  for i = 2, count do
    local key = KEYS[first + 3 * i - 1]
    number = math.max(number, (fenceNumber(redis.call('GET', key)) or refuseFence(key)) + 2 - i)
  end
  for i = 2, count do redis.call('SET', KEYS[first + 3 * i - 1], number + i - 1, 'PX', fenceMs) end
  last = math.max(last, number)
  return number
end

local function takeAll(first, tokens, ttlMs, deadlineMs)
  if isLate(deadlineMs) then return REPLY.TOO_LATE, nowMs(), 0 end
  for i, token in ipairs(tokens) do
    local at = first + stride * (i - 1)
    if not isFree(KEYS[at], KEYS[at + 1], token) then return REPLY.BUSY, math.max(redis.call('PTTL', KEYS[at]), -1), 0 end
  end
  for i, token in ipairs(tokens) do
    local lock = KEYS[first + stride * (i - 1)]
    if redis.call('PTTL', lock) < ttlMs then takeServed(lock, token, ttlMs) end
  end
  return REPLY.GRANTED, numbersFor(first, #tokens), 0
end

local replies = {}
local first = 2
for i = 1, #ARGV do
  local words = {}
  for word in string.gmatch(ARGV[i], '%S+') do words[#words + 1] = word end
  local ttlMs, deadlineMs = tonumber(table.remove(words, 1)), table.remove(words, 1)
  -- One rejected command (a key of another type, a full server) must not fail the others.
  local ok, code, x, y = pcall(takeAll, first, words, ttlMs, deadlineMs)
  if not ok then code, x, y = REPLY.REFUSED, type(code) == 'table' and code.err or tostring(code), 0 end
  first = first + stride * #words
  local n = 3 * i - 2
  replies[n], replies[n + 1], replies[n + 2] = code, x, y
end
saveFence()
return replies
