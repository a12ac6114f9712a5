--[[
  Runs the semaphore commands of one tick, one after the other, each as if it were alone.

  Every command is idempotent by owner token, `<process>:<sequence>:<weight>`, so it may be sent again. Time is the server's
  TIME, read once: leases end by it, offers and places in the queue count by it, and fencing tokens rise with it.

  @key  fence: string       last fencing token that was issued, one for all locks of a prefix; never expires
  @key  lock...: string     `semaphore:<permits>`; expires with the last lease. Anything else is a lock of another kind
  @key  held...: zset       owner tokens that hold permits or were offered them, by the end of the lease; expires as the lock
  @key  queue...: zset      waiting owner tokens, in the order of their scores; expires a while after the last question
  @key  asked...: zset      the same tokens, by the time until which their places count; expires as the queue
  @arg  command...: string  one for each four keys, its words divided by single spaces:
          a <ownerToken> <ttlMs> <block> <permits> <deadlineMs>  acquire, or be told that it cannot be now
          w <ownerToken> <ttlMs> <block> <permits> <deadlineMs>  acquire, or wait in the queue
          d <ownerToken>                                         release, nobody waits here (also: leave, undo)
          r <ownerToken> <next> <ttlMs> <block> <deadlineMs>     release; `next` of this process wants permits again
          n <ownerToken> <ttlMs> [=]                             renew; with `=` the lease may also become shorter
          `deadlineMs`: as in lock.lua
  @returns [code, x, y] for each command, in one flat list

  1, n, o   granted: n is the first of `block` fencing tokens; o = 1: another process waits
  2, ms, 0  queued: look again in ms (-1: unknown)
  3, ms, 0  busy, and no waiting was wanted
  4, 0, 0   released
  6, 0, 0   the token holds no permits; it is in no queue
  7, o, 0   renewed; o = 1: another process waits
  8, n, o   released and granted to `next`; n is its first fencing token
  9, e, 0   refused; e is the error of the server
  10, p, 0  the key is a semaphore of p permits at present (0: a lock of another kind); the token is nowhere
  14, c, 0  too late: the deadline has passed, nothing was done; c is the server's clock in ms
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
  -- One refused command (a key of another type, a full server) must not fail those beside it.
  local ok, code, x, y = pcall(runCommand, i)
  if not ok then code, x, y = 9, type(code) == 'table' and code.err or tostring(code), 0 end
  -- What a refused command has done is looked at again.
  local settled = pcall(ok and i < #ARGV and settleIfFree or settle)
  if not ok or not settled then lock = nil end
  local n = 3 * i - 2
  replies[n], replies[n + 1], replies[n + 2] = code, x, y
end
saveFence()
return replies
