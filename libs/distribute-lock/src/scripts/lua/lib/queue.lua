--@include lib/one-primary.lua
--@include lib/clock.lua
-- An owner token is <process id>:<sequence>, or that with a third part; a value of another form belongs to a foreign client.
-- A process id is a channel id and a secret, 11 characters each. Only the channel id may become part of a name.
local function processOf(token)
  local process = string.match(token, '^([%w_-]+):%w+$') or string.match(token, '^([%w_-]+):%w+:%w+$')
  return process and #process == 22 and process or nil
end

-- A reader's token has `r` for its third part. What ends in `:r` may also be the 27th token of a process.
local function isReader(token)
  return string.find(token, ':%w+:r$') ~= nil
end

-- Every token in the queue has a number of arrival, whose fraction says when it last asked: the server's milliseconds modulo
-- STAMPS. Readers stand before all others, with numbers that begin far below 0, so the head tells whether any reader waits.
local READERS_FROM = -2 ^ 36
local STAMPS = 2 ^ 16

-- The number of the last arrival; usually nobody or only one kind waits.
local function lastArrival(queue)
  local last = math.floor(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)
  if last < 0 then return last - READERS_FROM end
  if last == 0 then return 0 end
  local reader = redis.call('ZRANGE', queue, '(0', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  return reader and math.max(last, math.floor(reader) - READERS_FROM) or last
end

-- A token that stands there keeps its place. Answers 1 if it did not stand there.
local function append(queue, token)
  local arrival = lastArrival(queue) + 1
  if isReader(token) then arrival = READERS_FROM + arrival end
  local stamp = nowMs() % STAMPS / STAMPS
  local added = redis.call('ZADD', queue, 'NX', arrival + stamp, token)
  if added == 0 then redis.call('ZADD', queue, math.floor(redis.call('ZSCORE', queue, token)) + stamp, token) end
  redis.call('PEXPIRE', queue, queueMs)
  return added
end

-- The channel begins with the prefix of the locks, whose length in bytes ends the name of the fencing counter.
-- Answers how many received it, -1 if that is not known, as in Cluster. PUBLISH goes by pcall: a refused one would end the script
-- half-way, with the lock handed over already.
local function tell(token, what, lock)
  local process = processOf(token)
  if not process then return 0 end
  local prefix = string.sub(lock, 1, string.match(fence, '%d+$'))
  local channel = 'nestjs-lock:1:' .. prefix .. string.sub(process, 1, 11)
  local receivers = redis.pcall('PUBLISH', channel, what .. ' ' .. token .. ' ' .. lock)
  return counted and type(receivers) == 'number' and receivers or -1
end
