--[[
  Keeps the ids of the servers that processes use as the nodes of one quorum. Each of these servers has a record of them.

  The record has one place for each node. An id keeps its place while a process that is connected to its server renews it,
  and for some time after that. A further id is refused until a place is free, so no two processes that both reach this
  server can count the votes of two different lists of nodes. The record also has the id of the server itself.

  A server that lost its data has no id. A process that knew the server gives it the former id. Another process may be
  faster and give it a new one. So for some time the record of a new id is replaced by that of a process that knew the server.

  @key  members: zset     =<id> is the id of this server, +<id> that of another node, #<count> the number of nodes, !new is there while the id of this server is new; each with the time in ms at which it ends. The key expires with the last of them
  @arg  nodes: string     number of nodes in the list of the process
  @arg  keepMs: string    time for which the places are kept
  @arg  known: string     1 if the process knows the id of this server from an earlier answer, else 0
  @arg  id: string        id of this server, if it has none
  @arg  other...: string  ids of the nodes to which the process is connected
  @returns [code, x, y]

        MEMBERS, 0, id      every id has a place; id is the id of this server
        NO_PLACE, t, ids    some ids have no place: ids is the id of this server and these ids, separated by spaces; t is the latest end of a place of an id that the process did not send
        OTHER_COUNT, ms, n  processes use this server in a list of n nodes; nothing changed; the record of n ends in ms
]]
local members, nodes, keepMs, known, id = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4]

--@include lib/clock.lua

local endsAt = nowMs() + keepMs
redis.call('ZREMRANGEBYSCORE', members, '-inf', nowMs())
if known and redis.call('ZSCORE', members, '!new') and not redis.call('ZSCORE', members, '=' .. id) then
  redis.call('DEL', members)
end
local record = redis.call('ZRANGE', members, 0, -1, 'WITHSCORES')
local own, ends, count = nil, {}, 0
for i = 1, #record, 2 do
  local kind, name = string.match(record[i], '^([#=+])([%w_-]+)$')
  if kind == '#' then
    if name ~= nodes then return { REPLY.OTHER_COUNT, record[i + 1] - nowMs(), name } end
  elseif kind then
    if kind == '=' then own = name end
    if not ends[name] then count = count + 1 end
    ends[name] = math.max(ends[name] or 0, tonumber(record[i + 1]))
  end
end

local function keep(member)
  redis.call('ZADD', members, 'GT', endsAt, member)
end

keep('#' .. nodes)
if not own then
  own = id
  if not known then redis.call('ZADD', members, nowMs() + PROTOCOL.NEW_RECORD_MS, '!new') end
end
keep('=' .. own)
if not ends[own] then count = count + 1 end
local refused, sent = { own }, { [own] = true }
for i = 5, #ARGV do
  local other = ARGV[i]
  sent[other] = true
  if other ~= own then
    if not ends[other] and count >= tonumber(nodes) then
      refused[#refused + 1] = other
    else
      if not ends[other] then count = count + 1 end
      ends[other] = endsAt
      keep('+' .. other)
    end
  end
end
if redis.call('PTTL', members) < keepMs then redis.call('PEXPIRE', members, keepMs) end
if #refused == 1 then return { REPLY.MEMBERS, 0, own } end
local latest = 0
for name, ending in pairs(ends) do
  if not sent[name] then latest = math.max(latest, ending) end
end
return { REPLY.NO_PLACE, latest, table.concat(refused, ' ') }
