-- Assigns the lock to readers: to `own` for its whole ttl, and to the waiting readers. Ends the leases of earlier
-- readers. Returns false if no reader got a lease.
local function beginReading(own, ttlMs, waiting, lives)
  redis.call('SET', lock, READERS, 'PX', claimMs)
  redis.call('UNLINK', readers, gate)
  if firstWriter() then closeGate(#waiting == 2 * MOST_LET_IN and lastReader()) end
  if own then
    redis.call('ZREM', queue, own)
    lend(own, ttlMs)
  end
  return letIn(waiting, own, lives)
end

-- Whether the token is `own` or belongs to the process whose tokens begin with `process`.
local function isOneOf(token, own, process)
  return token == own or (process ~= nil and string.sub(token, 1, 23) == process)
end

-- Assigns the lock to the waiting readers. Returns the same values as `hand`.
local function handToReaders(kind, own, process, ttlMs, origin)
  local waiting = readersInQueue()
  if #waiting == 0 then return end
  -- A reader that makes an attempt need not be queued.
  local mine = kind == 'r' and own
  for i = 1, #waiting, 2 do
    if kind == 'r' and not mine and isOneOf(waiting[i], own, process) then mine = waiting[i] end
  end
  local lives = origin and isSilent(waiting[2]) and liveProcesses(waiting, origin)
  if beginReading(mine, ttlMs, waiting, lives) then return mine or READERS, mine end
  return nil, nil, #waiting == 2 * MOST_LET_IN
end

-- Offers the lock to the first writer before the score `upTo`. Returns the same values as `hand`.
local function handToWriter(upTo, kind, own, process, ttlMs, origin)
  local first, score = firstWriter(upTo)
  if not first then return end
  local function isOwn(token)
    return kind == 'w' and isOneOf(token, own, process)
  end
  local taker, more = first, false
  if origin and isSilent(score) then
    taker, more = offerToNext(lock, queue, upTo, origin, isOwn)
    if not taker then return nil, nil, more end
  else
    redis.call('ZREM', queue, first)
    if not isOwn(first) then offer(lock, queue, first, score) end
  end
  redis.call('UNLINK', readers, gate)
  if not isOwn(taker) then return taker end
  redis.call('SET', lock, taker, 'PX', ttlMs)
  return taker, taker
end

-- Assigns a free lock to waiters. After a writer all readers are next; after readers the first writer is next. If the
-- lock was found free, the oldest waiter decides the kind. Returns the new holder; second, the token of the caller that
-- got the lock for its whole ttl, if any. Returns nothing when no waiter responds and the lock is free; third,
-- whether the call has reached its bounds, so that others may wait.
-- `own`, `process`: the caller's token of the kind `kind`, or all its tokens of that kind. `origin`: as in
-- `offerToNext`.
local function hand(after, kind, own, process, ttlMs, origin)
  local taker, mine, more
  local function toWriter(upTo)
    if not taker and not more then taker, mine, more = handToWriter(upTo, kind, own, process, ttlMs, origin) end
  end
  local reader, arrival = unpack(redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES'))
  local readerWaits = reader and tonumber(arrival) < 0
  if readerWaits and after == '' then toWriter(string.format('(%.17g', arrival - READERS_FROM)) end
  if after == 'r' then toWriter('+inf') end
  if not taker and not more and readerWaits then taker, mine, more = handToReaders(kind, own, process, ttlMs, origin) end
  toWriter('+inf')
  if taker then return taker, mine end
  redis.call('UNLINK', lock, readers, gate)
  return nil, nil, more
end
