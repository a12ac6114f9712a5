--[[
  Takes several exclusive locks for one caller: all of them or none.

  Every command is idempotent by owner token, so it may be sent again. Time is the server's; a part depends on TIME
  only for fencing tokens. What somebody has or waits for is left to lock.lua, one lock after the other.

  @key  fence: string       last fencing token that was issued, one for all locks of a prefix; never expires
  @key  lock...: string     owner token of the holder, or whatever another client wrote; expires with the lease
  @key  queue...: zset      waiting owner tokens; only looked at
  @arg  command...: string  <ttlMs> <ownerToken> ..., one token for each pair of lock and queue, in their order
  @returns [code, x, y] for each command, in one flat list

  1, n, 0   granted: n is the fencing token of the first lock, n + 1 that of the second, and so on
  3, ms, 0  nothing was done: a lock is held, or waited for; its lease ends in ms (-1: unknown)
  9, e, 0   refused; e is the error of the server
]]
local fence = KEYS[1]
--@include lib/fencing.lua

-- A lock that carries the token already is the caller's: the question is asked again.
local function isFree(lock, queue, token)
  local owner = redis.call('GET', lock)
  if owner == token then return true end
  return not owner and redis.call('EXISTS', queue) == 0
end

local function takeAll(first, tokens, ttlMs)
  for i, token in ipairs(tokens) do
    local lock = KEYS[first + 2 * i - 2]
    if not isFree(lock, KEYS[first + 2 * i - 1], token) then return 3, redis.call('PTTL', lock), 0 end
  end
  for i, token in ipairs(tokens) do
    local lock = KEYS[first + 2 * i - 2]
    if redis.call('PTTL', lock) < ttlMs then redis.call('SET', lock, token, 'PX', ttlMs) end
  end
  return 1, fencingTokens(#tokens), 0
end

local replies = {}
local first = 2
for i = 1, #ARGV do
  local words = {}
  for word in string.gmatch(ARGV[i], '%S+') do words[#words + 1] = word end
  local ttlMs = tonumber(table.remove(words, 1))
  -- One refused command (a key of another type, a full server) must not fail those beside it.
  local ok, code, x, y = pcall(takeAll, first, words, ttlMs)
  if not ok then code, x, y = 9, type(code) == 'table' and code.err or tostring(code), 0 end
  first = first + 2 * #words
  local n = 3 * i - 2
  replies[n], replies[n + 1], replies[n + 2] = code, x, y
end
saveFence()
return replies
