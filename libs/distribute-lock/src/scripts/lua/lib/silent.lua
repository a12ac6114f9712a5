-- A waiting process asks at least once within a claim window. One that has not asked for that long does not respond: offers to
-- its tokens would cost the others a claim window each.

-- One call removes no more tokens than this, and reads no more of the queue, so that it does not keep the server busy.
local MOST_REMOVED, MOST_READ = 100, 1000

local function silentMs(score)
  return (nowMs() - score % 1 * STAMPS) % STAMPS
end

-- The lock is free although processes wait, so an offer or a lease has ended without a release. Removes the tokens of processes
-- that do not respond; if such a process is alive, its next heartbeat queues them again. `token` asks now. Answers true when
-- more such tokens may stand there.
local function removeSilent(queue, token)
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  local limitMs = tonumber(claimMs)
  if not head[1] or silentMs(head[2]) < limitMs then return false end
  local waiting = redis.call('ZRANGE', queue, 0, MOST_READ - 1, 'WITHSCORES')
  -- One token of a process asks for all of them.
  local lives = { [string.sub(token, 1, 22)] = true }
  for i = 1, #waiting, 2 do
    if silentMs(waiting[i + 1]) < limitMs then lives[string.sub(waiting[i], 1, 22)] = true end
  end
  local silent = {}
  for i = 1, #waiting, 2 do
    if #silent < MOST_REMOVED and not lives[string.sub(waiting[i], 1, 22)] then silent[#silent + 1] = waiting[i] end
  end
  if #silent > 0 then redis.call('ZREM', queue, unpack(silent)) end
  return #silent == MOST_REMOVED
end

-- Queues a token that asks, unless its caller does not wait; answers what the caller gets.
local function waitBehind(owner, queue, token, command, leftMs)
  local process = owner and processOf(owner)
  local holder = (not owner or process or owner == 'readers') and 0 or 1
  if command == 'a' then return 3, leftMs, holder end
  -- The message of an offer may have been lost.
  if process and process == processOf(token) then holder = owner end
  return append(queue, token) == 1 and 2 or 13, leftMs, holder
end
