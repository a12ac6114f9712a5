--[[
  One step of a lock on one of several independent primaries. No primary decides alone: the caller counts their replies.

  Every step is idempotent by owner token. A token that was released on any primary is never requested again. TIME
  decides whether a request is too late. Fencing tokens increase with TIME even when their counter is lost.

  @key  lock: string      the token that has this primary's vote, or the value of a foreign client; expires with the lease
  @key  queue: zset       owner tokens that wait for a message; expires some time after the last attempt
  @key  fence: string     last fencing token of the lock that was written here; expires ten minutes after the last grant or renewal
  @arg  command: string   a: acquire; w: acquire, otherwise wait for a message; f: write fencing tokens; d: release; n: renew; l: renew, also to a shorter lease
  @arg  token: string     the token that gets the vote
  @arg  owner: string     the owner token in the queue; an owner may use several tokens, one after another
  @arg  x: string         a, w, n, l: ttlMs; f: first fencing token; d: 1 to notify the next waiter, else 0
  @arg  y: string         a, w: number of fencing tokens; f: last fencing token; n: the same, or 0; d: owner token to queue instead, or -
  @arg z: string          a, w: deadline on this server's clock; after it nothing changes; d: deadline after which nothing is queued; 0: none
  @returns [code, x, y]

  a, w  VOTE, n, q           the vote is granted: n is the lowest first fencing token that this primary allows; q processes wait
        VOTED_BEFORE, n, q   as VOTE; the token already had the vote
        NO_VOTE, ms, t       token t has the vote ('' for a foreign client); the vote ends in ms (-1: no end)
        TOO_LATE, c, 0       the deadline has passed; c is the server's clock in ms
  f     FENCE_WRITTEN, 0, 0  written
        FENCE_TOO_LOW, n, 0  n is already written
  d     VOTE, t, 0           released; t = 1: a waiter was notified
  n, l  VOTE, q, 0           renewed; q processes wait
  f, d, n, l  NO_VOTE, 0, 0  the token does not have the vote here
]]
local lock, queue, fence = KEYS[1], KEYS[2], KEYS[3]
local command, token, owner, x, y, z = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local FENCE_MS = PROTOCOL.FENCE_TTL_MS

--@include lib/clock.lua
--@include lib/fence-number.lua
--@include lib/numbers.lua
--@include lib/queue.lua

local function lastFence()
  return fenceNumber(redis.call('GET', fence)) or refuseFence(fence)
end

local function lowestFence(count)
  clock = clock or redis.call('TIME')
  return math.max(lastFence() + 1, clock[1] * 1000000 + clock[2] - count + 1)
end

local function raise()
  if redis.call('PTTL', lock) < tonumber(x) then redis.call('PEXPIRE', lock, x) end
end

-- Notifies the first waiting process that responds, and removes the tokens of dead processes in front of it. MOST_NOTIFIED
-- bounds the work of one call.
local MOST_NOTIFIED = 100

local function notifyNext()
  local waiting, dead, gone, notified = redis.call('ZRANGE', queue, 0, MOST_NOTIFIED - 1), {}, {}, 0
  for _, next in ipairs(waiting) do
    local process = string.sub(next, 1, 22)
    gone[#gone + 1] = next
    if not dead[process] and notify(next, 'g', lock) ~= 0 then
      notified = 1
      break
    end
    dead[process] = true
  end
  if #gone > 0 then redis.call('ZREM', queue, unpack(gone)) end
  -- The last process in the queue probably responds.
  local last = notified == 0 and redis.call('ZRANGE', queue, -1, -1)[1]
  return last and notify(last, 'g', lock) ~= 0 and 1 or notified
end

local late = (command == 'a' or command == 'w' or command == 'd') and isLate(z)
if late and command ~= 'd' then return { REPLY.TOO_LATE, nowMs(), 0 } end
local voted = redis.call('GET', lock)
local mine = voted == token

if command == 'a' or command == 'w' then
  if voted and not mine then
    if command == 'w' then
      append(queue, owner)
      notify(voted, 'c', lock)
    end
    return { REPLY.NO_VOTE, redis.call('PTTL', lock), processOf(voted) and voted or '' }
  end
  -- This is the first write. A full server rejects it before anything changes.
  if mine then raise() else redis.call('SET', lock, token, 'PX', x) end
  redis.call('ZREM', queue, owner)
  return { mine and REPLY.VOTED_BEFORE or REPLY.VOTE, lowestFence(tonumber(y)), redis.call('ZCARD', queue) }
end

if command == 'd' then
  if mine then redis.call('DEL', lock) end
  if y ~= owner then redis.call('ZREM', queue, owner) end
  local notified = mine and x == '1' and notifyNext() or 0
  -- A resent step must not queue the token again.
  if mine and y ~= '-' and not late then append(queue, y) end
  return { mine and REPLY.VOTE or REPLY.NO_VOTE, notified, 0 }
end

if not mine then return { REPLY.NO_VOTE, 0, 0 } end
local last = lastFence()
if command == 'n' or command == 'l' then
  if command == 'l' then redis.call('PEXPIRE', lock, x) else raise() end
  -- Keeps the number while the lock is held, also on nodes that voted after the number was written.
  if last < tonumber(y) then
    redis.call('SET', fence, y, 'PX', FENCE_MS)
  else
    redis.call('PEXPIRE', fence, FENCE_MS)
  end
  return { REPLY.VOTE, redis.call('ZCARD', queue), 0 }
end
if last >= tonumber(x) then return { REPLY.FENCE_TOO_LOW, last, 0 } end
redis.call('SET', fence, y, 'PX', FENCE_MS)
return { REPLY.FENCE_WRITTEN, 0, 0 }
