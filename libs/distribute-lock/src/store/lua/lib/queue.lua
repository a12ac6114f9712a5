--@include lib/one-primary.lua
--@include lib/clock.lua
-- The process id of an owner token `<process id>:<sequence>`, which may have a third part. A value of another form
-- belongs to a foreign client. A process id consists of a channel id and a secret of 11 characters each. Only the
-- channel id may become part of a name.
local function processOf(token)
  local process = string.match(token, '^([%w_-]+):%w+$') or string.match(token, '^([%w_-]+):%w+:%w+$')
  return process and #process == 22 and process or nil
end

-- The token of a reader has `r` as its third part. A two-part token may also end in `:r`: the 27th of a process.
local function isReader(token)
  return string.find(token, ':%w+:r$') ~= nil
end

-- Every queued token has an arrival number. Its fraction is the time of the last attempt: the server's milliseconds
-- modulo STAMPS. Readers come before all others: their numbers start far below 0, so the head shows whether a reader
-- waits.
local READERS_FROM = -2 ^ 36
local STAMPS = 2 ^ 16

-- The number of the last arrival. Usually the queue is empty or holds one kind of token.
local function lastArrival(queue)
  local last = math.floor(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)
  if last < 0 then return last - READERS_FROM end
  if last == 0 then return 0 end
  local reader = redis.call('ZRANGE', queue, '(0', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  return reader and math.max(last, math.floor(reader) - READERS_FROM) or last
end

-- Queues a token; a queued token keeps its place. `after` is the number of a token that has just left the queue.
-- Returns 1 if it was not queued before.
local function append(queue, token, after)
  local arrival = math.max(lastArrival(queue), after or 0) + 1
  if isReader(token) then arrival = READERS_FROM + arrival end
  local stamp = nowMs() % STAMPS / STAMPS
  local added = redis.call('ZADD', queue, 'NX', arrival + stamp, token)
  if added == 0 then redis.call('ZADD', queue, math.floor(redis.call('ZSCORE', queue, token)) + stamp, token) end
  redis.call('PEXPIRE', queue, queueMs)
  return added
end

-- Sends a message to the inbox of the token's process. The channel begins with the prefix of the locks; the name of the
-- fencing counter ends with the length of that prefix in bytes. Returns the number of receivers, or -1 if unknown, as
-- in a Cluster. PUBLISH uses pcall: an error would end the script after the hand-over of the lock. In a large Cluster a
-- process may listen to a channel in the slot of the lock: the message then reaches this server and its replicas only.
local function notify(token, what, lock)
  local process = processOf(token)
  if not process then return 0 end
  local prefix = string.sub(lock, 1, string.match(fence, '%d+$'))
  local channel = 'nestjs-lock:1:' .. prefix .. string.sub(process, 1, 11)
  local message = what .. ' ' .. token .. ' ' .. lock
  if sharded then
    local reached = redis.pcall('SPUBLISH', channel .. ':' .. fence, message)
    if type(reached) == 'number' and reached > 0 then return -1 end
  end
  local receivers = redis.pcall('PUBLISH', channel, message)
  return counted and type(receivers) == 'number' and receivers or -1
end

-- Notifies the first waiting process that a message reaches. It makes an attempt, learns when the present offers end,
-- and repeats the attempt then.
local function wakeNext(lock, queue)
  local tried = {}
  for _, token in ipairs(redis.call('ZRANGE', queue, 0, PROTOCOL.MOST_WOKEN - 1)) do
    local process = string.sub(token, 1, 22)
    if not tried[process] and notify(token, 'g', lock) ~= 0 then return end
    tried[process] = true
  end
end
