--[[
  Runs the lock commands of one tick, one after the other, each as if it were alone.

  Every command is idempotent by owner token, so it may be sent again. Time is the server's; a part depends on TIME
  only for fencing tokens, which rise with it even when the counter is lost.

  @key  fence: string       first unused fencing token, one for all locks of a prefix; never expires
  @key  lock...: string     owner token of the holder, or whatever a foreign client wrote; expires with the lease
  @key  queue...: zset      waiting owner tokens, in the order of their scores; expires a while after the last question
  @arg  command...: string  for each pair of lock and queue one of
          a <ownerToken> <wait: 0|1> <ttlMs> <block>      acquire
          d <ownerToken>                                  release, nobody waits here (also: leave, undo)
          r <ownerToken> <next> <ttlMs> <block>           release, `next` of this process wants it again;
                                                          next = '': any head of this process is granted at once
          n <ownerToken> <ttlMs>                          renew
  @returns [code, x, y] for each command, in one flat list

  1, n, w   granted: n is the first of `block` fencing tokens, w processes wait
  2, ms, f  queued: the lease in front ends in ms (-1: unknown); f = 1: its holder is foreign
  3, ms, f  busy, and no waiting was wanted
  4, 0, 0   released, nobody waits
  5, 0, 0   released and offered to another process
  6, 0, 0   the token does not hold the lock; nothing else was done
  7, w, 0   renewed, w processes wait
  8, n, t   released and granted to owner token t of the same process; n is its first fencing token
  9, e, 0   refused; e is the error of the server
]]
local fence = KEYS[1]
--@include lib/fencing.lua
--@include lib/common-case.lua

-- A command that comes alone is not worth making all the functions below.
if #KEYS == 3 then
  local command, code, x = ARGV[1]
  if command == 'a' then code, x = take(KEYS[2], KEYS[3], ARGV[2], ARGV[4], ARGV[5])
  elseif command == 'd' then code, x = free(KEYS[2], KEYS[3], ARGV[2]) end
  if code then
    saveFence()
    return {code, x, 0}
  end
end

--@include lib/numbers.lua
--@include lib/queue.lua
--@include lib/acquire.lua
--@include lib/release.lua
--@include lib/renew.lua

local at = 1
local function words(count)
  at = at + count
  return unpack(ARGV, at - count, at - 1)
end

local replies = {}
for i = 2, #KEYS, 2 do
  local command = words(1)
  local run, count
  if command == 'a' then run, count = acquire, 4
  elseif command == 'd' then run, count = release, 1
  elseif command == 'r' then run, count = release, 4
  else run, count = renew, 2 end
  -- One refused command (a key of another type, a full server) must not fail those beside it.
  local ok, code, x, y = pcall(run, KEYS[i], KEYS[i + 1], words(count))
  if not ok then code, x, y = 9, type(code) == 'table' and code.err or tostring(code), 0 end
  local n = #replies
  replies[n + 1], replies[n + 2], replies[n + 3] = code, x, y
end
saveFence()
return replies
