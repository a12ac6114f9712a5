-- Whether a waiter has made no attempt for a claim window. A waiting process makes at least one in that time, so this
-- one does not respond. Offers to its tokens would cost other waiters a claim window each. If it does respond later,
-- its next heartbeat queues its tokens again.
local function isSilent(score)
  return (nowMs() - score % 1 * STAMPS) % STAMPS >= tonumber(claimMs)
end

-- The processes of all tokens with a recent attempt; one token counts for all tokens of its process. `origin` belongs to
-- the caller.
local function liveProcesses(waiting, origin)
  local lives = { [string.sub(origin, 1, 22)] = true }
  for i = 1, #waiting, 2 do
    if not isSilent(waiting[i + 1]) then lives[string.sub(waiting[i], 1, 22)] = true end
  end
  return lives
end

-- Queues the token of an attempt unless its caller does not wait; returns the reply to the caller.
local function waitBehind(owner, queue, token, command, leftMs)
  local process = owner and processOf(owner)
  local holder = (not owner or process or owner == 'readers') and 0 or 1
  if command == 'a' then return REPLY.BUSY, leftMs, holder end
  -- The message of an offer to this process may have been lost.
  if process and process == processOf(token) then holder = owner end
  return append(queue, token) == 1 and REPLY.QUEUED or REPLY.STILL_QUEUED, leftMs, holder
end
