-- Runs a sequence of steps with virtual time, and returns what each step did. `scripts` has a function for each script.
-- One virtual millisecond is 100 s for Redis, so the duration of a sequence changes no reply. A key that ends in `left` ms
-- ends for Redis at `base + left * SCALE + SLACK`: it exists while `left` is 0. An end that a command places in the past
-- has no SLACK.
local SCALE, SLACK = 100000, 50000
-- These commands change no key.
local READS = {}
for name in string.gmatch("GET EXISTS PTTL TIME ZCARD ZRANGE ZRANGEBYSCORE ZSCORE PUBLISH SPUBLISH", "%a+") do READS[name] = true end
local sequence, messages = cjson.decode(ARGV[1]), {}
local nowMs, receivers = sequence.startMs, {}
local clock = redis.call('TIME')
local base = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function text(number) return string.format('%.17g', number) end
local function leftAt(real) return math.floor((real - base) / SCALE) end
local function realEnd(left, first) return text(base + left * SCALE + (left >= first and SLACK or 0)) end
local function isWhole(ms) return string.find(ms, '^-?%d+$') ~= nil end
local function realTtl(ms) return tonumber(ms) > 0 and text(ms * SCALE + SLACK) or ms end

-- The line of each key in the last dump that no command has named since, as no other command changes the key.
local unchanged = {}

-- Each key ends `ms` earlier in virtual time.
local function pass(ms)
  unchanged = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    local ends = redis.call('PEXPIRETIME', key)
    if ends >= 0 then redis.call('PEXPIREAT', key, realEnd(leftAt(ends) - ms, 0)) end
  end
  nowMs = nowMs + ms
end

local function execute(run, name, ...)
  local words = { ... }
  if not READS[name] then
    for _, word in ipairs(words) do unchanged[word] = nil end
  end
  if name == 'TIME' then return { text(math.floor(nowMs / 1000)), text(nowMs % 1000 * 1000 + sequence.micros) } end
  if name == 'PUBLISH' or name == 'SPUBLISH' then
    messages[#messages + 1] = name .. ' ' .. words[1] .. ' ' .. words[2]
    local count = receivers[string.match(words[1], '^nestjs%-lock:1:....(...........)')] or 0
    return count < 0 and { err = 'NOPERM' } or count
  end
  if name == 'PEXPIRE' and isWhole(words[2]) then words[2] = realTtl(words[2]) end
  if name == 'PEXPIREAT' and isWhole(words[2]) then words[2] = realEnd(words[2] - nowMs, 1) end
  for i = 3, name == 'SET' and #words - 1 or 0 do
    local ms = words[i + 1]
    if words[i] == 'PX' and isWhole(ms) then words[i + 1] = realTtl(ms) end
    if words[i] == 'PXAT' and isWhole(ms) and tonumber(ms) > 0 then words[i + 1] = realEnd(ms - nowMs, 0) end
  end
  local reply = run(name, unpack(words))
  -- Redis counts from its own clock, which may have advanced.
  local ends = (name == 'PEXPIRE' or name == 'SET') and redis.call('PEXPIRETIME', words[1]) or -1
  if ends >= 0 then redis.call('PEXPIREAT', words[1], realEnd(leftAt(ends), 0)) end
  return name == 'PTTL' and reply >= 0 and math.floor(reply / SCALE) or reply
end

local server = {
  call = function(...) return execute(redis.call, ...) end,
  pcall = function(...) return execute(redis.pcall, ...) end,
}

local function shown(value)
  if type(value) == 'number' then return text(value) end
  if type(value) ~= 'table' then return tostring(value) end
  if value.err then return 'error ' .. value.err end
  if value.ok then return 'status ' .. value.ok end
  local parts = {}
  for i = 1, #value do parts[i] = shown(value[i]) end
  return table.concat(parts, ' ')
end

-- What Lua says about a wrong value differs from what Redis or JavaScript says.
local function withoutWords(line)
  line = string.gsub(line, "user_script:%d+: [%a '_()]*", 'a rule failed ')
  return (string.gsub(line, 'ERR %a[%a ]*', 'a rule failed '))
end

local function lineOf(key)
  local isSet = redis.call('TYPE', key).ok == 'zset'
  local content = isSet and redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') or redis.call('GET', key)
  local ends = redis.call('PEXPIRETIME', key)
  return key .. ' ' .. shown(content) .. ' for ' .. (ends < 0 and ends or leftAt(ends))
end

local function dump()
  local names, parts = redis.call('KEYS', '*'), {}
  table.sort(names)
  for i, key in ipairs(names) do
    unchanged[key] = unchanged[key] or lineOf(key)
    parts[i] = unchanged[key]
  end
  return table.concat(parts, '\n')
end

local function run(step)
  messages = {}
  local ok, reply = pcall(scripts[step.script], step.keys, step.args, server)
  if not ok and type(reply) ~= 'table' then reply = { err = reply } end
  return withoutWords(shown(reply) .. ' | ' .. table.concat(messages, ' | '))
end

redis.call('FLUSHDB')
local lines = {}
for number, step in ipairs(sequence.steps) do
  local line = ''
  if step.receivers then
    receivers = step.receivers
  elseif step.advanceMs then
    pass(step.advanceMs)
  elseif step.foreign then
    local reply = server.pcall(unpack(step.foreign))
    line = type(reply) .. ' ' .. shown(reply)
  else
    line = run(step)
  end
  lines[number] = line .. '\n' .. (number % sequence.dumpEvery == 0 and dump() or '')
end
redis.call('FLUSHDB')
return lines
