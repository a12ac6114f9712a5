--[[
  Runs read/write commands, one after the other, each as if it were alone: many readers or one writer.

  Who writes is an exclusive holder: the lock key holds the owner token. While readers hold, it says `readers`, and each has a
  lease of its own beside it; these count only while the lock key says so. Every command is idempotent by owner token. Time is
  the server's: whether a lease still lives depends on TIME.

  @key  fence: string         last fencing token that was issued, as in lock.lua
  @key  lock...: string       owner token of the writer, `readers`, or whatever a foreign client wrote; expires with the (last) lease
  @key  queue...: zset        waiting owner tokens of both kinds, in the order of their scores, readers first; expires a while after the last question
  @key  readers...: zset      owner tokens of readers, each with the end of its lease in ms; expires with the last of them
  @key  gate...: string       stands while a live writer waits for readers; expires a while after its last question
  @arg  command...: string    one for each group of keys, its words divided by single spaces; those of lock.lua, and:
          g <ownerToken> <ttlMs> <readToken>          downgrade: the writer reads from now on, as <readToken>
        A token of a reader ends in `:r`; `next` of a release is of the same kind as its token.
  @returns [code, x, y] for each command, in one flat list: the codes of lock.lua. Here they mean besides:

  1, n, w   granted: for a reader w is 1 if a writer waits
  2, ms, h  queued (13: it stood there before): ms is also the time until a reader may pass the gate
  5, 0, 0   released; others read on, or it was offered to others
  7, w, 0   renewed or downgraded: for a reader w is 1 if a writer waits
]]
local fence = KEYS[1]
-- Those of the command that runs.
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

local run = { a = enter, w = enter, d = leave, r = leave, n = keep, g = downgrade }
local replies = {}
for i = 1, #ARGV do
  local command, token, x1, x2, x3, x4 = string.match(ARGV[i], '^(%l) (%S+) ?(%S*) ?(%S*) ?(%S*) ?(%S*)$')
  lock, queue, readers, gate = KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i], KEYS[4 * i + 1]
  -- One refused command (a key of another type, a full server) must not fail those beside it.
  local ok, code, x, y = pcall(run[command], token, x1, x2, x3, x4, command)
  if not ok then code, x, y = 9, type(code) == 'table' and code.err or tostring(code), 0 end
  local n = 3 * i - 2
  replies[n], replies[n + 1], replies[n + 2] = code, x, y
end
saveFence()
return replies
