--[[
  Runs the commands of read/write locks in their order, with the same results as separate calls. A lock has many
  readers or one writer.

  A writer is an exclusive holder: the lock key holds its owner token. While readers hold the lock, the lock key holds
  `readers`. Each reader then has a separate lease in another key; these leases count only while the lock key holds
  `readers`. Every command is idempotent by owner token. All times are those of the server: TIME decides whether a lease
  is valid.

  @key  fence: string         last fencing token that was issued, as in lock.lua
  @key  lock...: string       owner token of the writer, `readers`, or the value of a foreign client; expires with the (last) lease
  @key  queue...: zset        waiting owner tokens of both kinds, in the order of their scores, readers first; expires some time after the last attempt
  @key  readers...: zset      owner tokens of readers, each with the end of its lease in ms; expires with the last of them
  @key  gate...: string       exists while a live writer waits for readers; expires some time after its last attempt
  @arg  command...: string    one for each group of keys, its words separated by single spaces; those of lock.lua, and:
          g <ownerToken> <ttlMs> <readToken>          downgrade: the writer becomes a reader with <readToken>
          s <ownerToken> <ttlMs> <block> <deadlineMs> take over: acquire; all holders lose the lock; waiters keep their places
        The token of a reader ends in `:r`; `next` of a release is of the same kind as its token.
  @returns [code, x, y] for each command, in one flat list: the codes of lock.lua, with these additions:

  GRANTED, n, w        granted: for a reader w is 1 if a writer waits
  QUEUED, ms, h        queued (STILL_QUEUED: it was already queued): ms is also the time until a reader may pass the gate
  PASSED, 0, 0         released; other readers keep the lock, or it was offered to others
  RENEWED, w, 0        renewed or downgraded: for a reader w is 1 if a writer waits
]]
local fence = KEYS[1]
-- Keys of the current command.
local lock, queue, readers, gate
--@include lib/fencing.lua
--@include lib/common-case.lua
--@include lib/numbers.lua
--@include lib/queue.lua
--@include lib/silent.lua
--@include lib/offer.lua
--@include lib/leases.lua
--@include lib/hand.lua
--@include lib/enter.lua
--@include lib/leave.lua
--@include lib/renew.lua
--@include lib/keep.lua

local run = { a = enter, w = enter, d = leave, r = leave, n = keep, g = downgrade, s = steal }
local replies = {}
for i = 1, #ARGV do
  local command, token, x1, x2, x3, x4 = string.match(ARGV[i], '^(%l) (%S+) ?(%S*) ?(%S*) ?(%S*) ?(%S*)$')
  lock, queue, readers, gate = KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i], KEYS[4 * i + 1]
  -- One rejected command (a key of another type, a full server) must not fail the others.
  local ok, code, x, y = pcall(run[command], token, x1, x2, x3, x4, command)
  if not ok then code, x, y = REPLY.REFUSED, type(code) == 'table' and code.err or tostring(code), 0 end
  local n = 3 * i - 2
  replies[n], replies[n + 1], replies[n + 2] = code, x, y
end
saveFence()
return replies
