-- An offer is the lock already carrying the waiter's token, for the claim window: the waiter, who has left the queue, claims
-- it by acquire, or begins at once and renews it. For that the message has the first of a few fencing tokens. Answers false
-- when the waiter's process is gone.
local function offer(lock, head)
  redis.call('SET', lock, head, 'PX', claimMs)
  local granted = 'g' .. string.format('%.0f', fencingTokens(offeredNumbers))
  if tell(head, granted, lock) ~= 0 then return true end
  redis.call('DEL', lock)
  return false
end
