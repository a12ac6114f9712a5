--[[
  Runs the semaphore commands of one tick in their order, with the same results as separate calls.

  Every command is idempotent by owner token, `<process>:<sequence>P<permits>:<weight>`, so it may be sent again. The
  caller gets its permits while the permits in use, with its weight, are at most `permits`. Callers that know different
  numbers share the key. All times are those of the server: TIME is read once per call. It decides when leases, offers
  and places in the queue end, and fencing tokens increase with it.

  @key  fence: string       last fencing token that was issued, one for all locks of a prefix; never expires
  @key  lock...: string     `semaphore:<permits>`, as of the latest grant; expires with the last lease. Anything else is a lock of another kind
  @key  held...: zset       owner tokens that hold permits or have an offer, by the end of the lease; expires with the lock
  @key  queue...: zset      waiting owner tokens, in the order of their scores; expires some time after the last attempt
  @key  places...: zset      the processes of these tokens, by the time until which their places count; expires like the queue
  @arg  command...: string  one for each four keys, its words separated by single spaces:
          a <ownerToken> <ttlMs> <block> <deadlineMs>             acquire; otherwise reply that the semaphore is busy
          w <ownerToken> <ttlMs> <block> <deadlineMs>             acquire; otherwise wait in the queue
          d <ownerToken>                                         release; no caller of this process waits (also: leave the queue, undo an attempt)
          r <ownerToken> <next> <ttlMs> <block> <deadlineMs>     release; `next` is the next attempt of this process
          n <ownerToken> <ttlMs> [=]                             renew; with `=` the lease may also become shorter
          `deadlineMs`: as in lock.lua
  @returns [code, x, y] for each command, in one flat list

  GRANTED, n, o        granted: n is the first of `block` fencing tokens; o = 1: another process waits
  QUEUED, ms, a        queued: repeat the attempt in ms (-1: unknown); a = 0: the token was queued before; a = 1: this command
                       queued it; a = 3: also, directly behind a token of another process; a = 2: a lock of another kind has
                       the key, and no message announces its end
  BUSY, ms, f          busy, for a command that does not wait; f = 1: a lock of another kind has the key
  FREE, 0, 0           released
  LOST, 0, 0           the token holds no permits; it is in no queue
  RENEWED, o, 0        renewed; o = 1: another process waits
  GRANTED_NEXT, n, o   released and granted to `next`; n is its first fencing token
  REFUSED, e, 0        refused; e is the error of the server
  TOO_LATE, c, 0       too late: the deadline has passed, nothing changed; c is the server's clock in ms
]]
local fence = KEYS[1]
--@include lib/fencing.lua
--@include lib/numbers.lua
--@include lib/queue.lua
--@include lib/semaphore-state.lua
--@include lib/semaphore-queue.lua
--@include lib/semaphore-commands.lua

local run = { a = acquire, w = acquire, d = release, r = release, n = renew }

local function runCommand(i)
  if KEYS[4 * i - 2] ~= lock then
    if lock then settle() end
    look(i)
  end
  local command, token, x1, x2, x3, x4 = string.match(ARGV[i], '^(%l) (%S+) ?(%S*) ?(%S*) ?(%S*) ?(%S*)$')
  return run[command](token, x1, x2, x3, x4, command)
end

local replies = {}
for i = 1, #ARGV do
  -- One rejected command (a key of another type, a full server) must not fail the others.
  local ok, code, x, y = pcall(runCommand, i)
  if not ok then code, x, y = REPLY.REFUSED, type(code) == 'table' and code.err or tostring(code), 0 end
  -- A rejected command may have changed the leases, so they are settled at once.
  local settled = pcall(ok and i < #ARGV and settleIfFree or settle)
  if not ok or not settled then lock = nil end
  local n = 3 * i - 2
  replies[n], replies[n + 1], replies[n + 2] = code, x, y
end
saveFence()
return replies
