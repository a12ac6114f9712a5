--[[
  Runs the lock commands of one tick in their order, with the same results as separate calls.

  Every command is idempotent by owner token, so it may be sent again. All times are those of the server: TIME decides
  whether an acquire is too late. Fencing tokens increase with TIME even when their counter is lost.

  @key  fence: string       last fencing token that was issued, one for all locks of a prefix; never expires. In a
                            Cluster one for each lock, which expires; a call then has commands of one lock only
  @key  lock...: string     owner token of the holder, or the value of a foreign client; expires with the lease
  @key  queue...: zset      waiting owner tokens, in the order of their scores, readers first; expires some time after the last attempt
  @arg  command...: string  one for each pair of lock and queue, its words separated by single spaces:
          a <ownerToken> <ttlMs> <block> <deadlineMs> [+]
              acquire; otherwise reply that another owner holds the lock
          w <ownerToken> <ttlMs> <block> <deadlineMs> [+]
              acquire; otherwise wait in the queue
          d <ownerToken>
              release; no caller of this process waits (also: leave the queue, undo an attempt)
          r <ownerToken> <next> <ttlMs> <block> <deadlineMs>
              release; `next` is the next attempt of this process. `-` means any head of the queue that belongs to this
              process: it is granted at once. After the deadline the process gets nothing
          n <ownerToken> <ttlMs> [=]
              renew; with `=` the lease may also become shorter
          `deadlineMs`: on the server's clock; after it the command gets nothing for its process; 0: none
          `+`: the counter may be incremented, because another command of this connection has just raised it to the clock;
               the sender checks the number, which is small when the counter has been lost
  @returns [code, x, y] for each command, in one flat list; or a number if each had the common case: a free lock, or a release
           without waiters. The number is the first fencing token; the commands use consecutive tokens in their order. It is 0
           if no command requests tokens

  GRANTED, n, w        granted: n is the first of `block` fencing tokens, w processes wait
  QUEUED, ms, h        queued: the current lease ends in ms (-1: unknown); h = 1: its holder is foreign, or a semaphore has the key,
                       so no message announces its end; h is the owner token of the holder if it belongs to the calling process
  BUSY, ms, f          busy, for a command that does not wait; f as h, without the token
  FREE, 0, 0           released; no process waits
  PASSED, 0, 0         released and offered to another process
  LOST, o, 0           the token does not hold the lock; nothing else changed. o = 1: the key belongs to another owner
  RENEWED, w, 0        renewed, w processes wait
  GRANTED_NEXT, n, t   released and granted to owner token t of the same process; n is its first fencing token
  REFUSED, e, 0        refused; e is the error of the server
  DELEGATED, 0, 0      readers hold the lock or wait for it; nothing changed: readwrite.lua must run the command
  STILL_QUEUED, ms, h  as QUEUED, but the token was already queued
  TOO_LATE, c, 0       too late: the deadline has passed, nothing changed; c is the server's clock in ms
]]
--@include lib/alone.lua
local fence = KEYS[1]
--@include lib/fencing.lua
--@include lib/common-case.lua
local WORDS = '^(%l) (%S+) ?(%S*) ?(%S*) ?(%S*) ?(%S*)$'
local command, token, x1, x2, x3, x4 = string.match(ARGV[1] or '', WORDS)

-- A single acquire of a lock that is free or was offered to the token.
if #KEYS == 3 and (command == 'a' or command == 'w') then
  if isLate(x3) then return { REPLY.TOO_LATE, nowMs(), 0 } end
  local fencingToken, full = take(KEYS[2], KEYS[3], token, x1, x2)
  local waiting
  if not fencingToken then fencingToken, waiting = claim(KEYS[2], KEYS[3], token, x1, x2) end
  if fencingToken then
    saveFence()
    return waiting and { REPLY.GRANTED, fencingToken, waiting } or fencingToken
  end
  if full then return full end
end

--@include lib/batch.lua
--@include lib/numbers.lua
--@include lib/queue.lua
--@include lib/silent.lua
--@include lib/offer.lua
--@include lib/acquire.lua
--@include lib/release.lua
--@include lib/renew.lua

local run = { a = acquire, w = acquire, d = release, r = release, n = renew }
if #KEYS == 3 then
  local code, x, y = run[command](KEYS[2], KEYS[3], token, x1, x2, x3, x4, command)
  saveFence()
  return { code, x, y }
end

local replies = {}
for i = 1, #ARGV do
  local n, block = 3 * i - 2, blocks[i]
  local ok, code, x, y = true, REPLY.FREE, 0, 0
  if not block then
    command, token, x1, x2, x3, x4 = string.match(ARGV[i], WORDS)
    -- One rejected command (a key of another type, a full server) must not fail the others.
    ok, code, x, y = pcall(run[command], KEYS[2 * i], KEYS[2 * i + 1], token, x1, x2, x3, x4, command)
    if not ok then code, x, y = REPLY.REFUSED, type(code) == 'table' and code.err or tostring(code), 0 end
  elseif block > 0 then
    code, x = REPLY.GRANTED, fencingTokens(block)
  end
  replies[n], replies[n + 1], replies[n + 2] = code, x, y
end
saveFence()
return replies
