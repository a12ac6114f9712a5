-- A waiting process asks at least once within a claim window. One that has not asked for that long does not respond: offers to
-- its tokens would cost the others a claim window each. If it lives, its next heartbeat queues its tokens again.
local function isSilent(score)
  return (nowMs() - score % 1 * STAMPS) % STAMPS >= tonumber(claimMs)
end

-- The processes of the tokens that are not silent; one token of a process asks for all of them. `asker` asks now.
local function liveProcesses(waiting, asker)
  local lives = { [string.sub(asker, 1, 22)] = true }
  for i = 1, #waiting, 2 do
    if not isSilent(waiting[i + 1]) then lives[string.sub(waiting[i], 1, 22)] = true end
  end
  return lives
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
