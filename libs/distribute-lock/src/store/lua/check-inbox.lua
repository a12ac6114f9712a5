--[[
  Publishes a message of a process to its own inbox, in the same way and on the same server as the script of a release. The
  commands use pcall, because their refusal is the result.

  @key  lock: string   a lock with waiters; it decides on which server and in which slot the script runs
  @arg  message: string
  @arg  channel: string
  @arg  shard: string   channel in the slot of the lock, if a release uses it first; else absent
  @returns the number of receivers that the server counts, or the text of its refusal
]]
local sharded = ARGV[3] and redis.pcall('SPUBLISH', ARGV[3], ARGV[1])
if type(sharded) == 'number' and sharded > 0 then return sharded end
local plain = redis.pcall('PUBLISH', ARGV[2], ARGV[1])
if type(plain) == 'number' then return plain end
return type(sharded) == 'number' and sharded or plain.err
