-- Runs a sequence of steps with virtual time, and returns what each step did. `scripts` has a function for each script.
local sequence = cjson.decode(ARGV[1])
local names = cjson.decode(ARGV[2])
local nowMs, receivers = sequence.startMs, {}
-- The server's time at which a key ends that ends now in virtual time. It is far away, so that no key ends by itself.
local endsNow = redis.call('TIME')[1] * 1000 + 10000000

-- Milliseconds until a key ends, in virtual time.
local function leftOf(key)
  local at = redis.call('PEXPIRETIME', key)
  return at < 0 and at or at - endsNow
end

-- Sets the end of a key, in virtual time.
local function endIn(key, ms, option)
  if option == 'GT' and not (leftOf(key) >= 0 and ms > leftOf(key)) then return 0 end
  if ms <= 0 then return redis.call('DEL', key) end
  return redis.call('PEXPIREAT', key, string.format('%.0f', endsNow + ms))
end

local function serverOf(messages)
  local function given(name, arguments)
    if name == 'TIME' then
      return true, { string.format('%.0f', math.floor(nowMs / 1000)), string.format('%d', nowMs % 1000 * 1000 + sequence.micros) }
    elseif name == 'PUBLISH' or name == 'SPUBLISH' then
      messages[#messages + 1] = name .. ' ' .. arguments[1] .. ' ' .. arguments[2]
      local count = receivers[string.match(arguments[1], '^nestjs%-lock:1:....(...........)')] or 0
      return true, count < 0 and { err = 'NOPERM' } or count
    end
    if name == 'PTTL' then return true, leftOf(arguments[1]) end
    if name == 'PEXPIRE' then return true, endIn(arguments[1], tonumber(arguments[2])) end
    if name == 'PEXPIREAT' then return true, endIn(arguments[1], arguments[2] - nowMs, arguments[3]) end
    for i = 3, name == 'SET' and #arguments - 1 or 0 do
      local ms = arguments[i] == 'PX' and tonumber(arguments[i + 1]) or arguments[i] == 'PXAT' and arguments[i + 1] - nowMs
      if ms and ms > 0 then arguments[i], arguments[i + 1] = 'PXAT', string.format('%.0f', endsNow + ms) end
    end
    return false
  end
  local function through(run)
    return function(name, ...)
      local arguments = { ... }
      local isGiven, reply = given(name, arguments)
      if isGiven then return reply end
      return run(name, unpack(arguments))
    end
  end
  return { call = through(redis.call), pcall = through(redis.pcall) }
end

local function shown(value)
  if type(value) == 'number' then return string.format('%.17g', value) end
  if type(value) ~= 'table' then return tostring(value) end
  if value.err then return 'error ' .. value.err end
  local parts = {}
  for i = 1, #value do parts[i] = shown(value[i]) end
  return table.concat(parts, ' ')
end

-- What Lua says about a wrong value differs from what Redis or JavaScript says.
local function withoutWords(text)
  text = string.gsub(text, "user_script:%d+: [%a '_()]*", 'a rule failed ')
  return (string.gsub(text, 'ERR %a[%a ]*', 'a rule failed '))
end

local function dump()
  local parts = {}
  for _, key in ipairs(names) do
    local kind = redis.call('TYPE', key).ok
    if kind ~= 'none' then
      local content
      if kind == 'string' then
        content = redis.call('GET', key)
      elseif kind == 'zset' then
        local pairs, list = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}
        for i = 1, #pairs, 2 do
          local score = tonumber(pairs[i + 1])
          list[#list + 1] = pairs[i] .. '=' .. string.format('%.0f+%.0f', math.floor(score), (score - math.floor(score)) * 65536)
        end
        content = table.concat(list, ',')
      end
      parts[#parts + 1] = key .. ' ' .. content .. ' for ' .. leftOf(key)
    end
  end
  return table.concat(parts, '\n')
end

local function run(step)
  local messages = {}
  local ok, reply = pcall(scripts[step.script], step.keys, step.args, serverOf(messages))
  if not ok and type(reply) ~= 'table' then reply = { err = reply } end
  return withoutWords(shown(reply) .. ' | ' .. table.concat(messages, ' | '))
end

-- Every key ends earlier, as if time had passed. A key exists in its last millisecond.
local function advance(ms)
  nowMs = nowMs + ms
  for _, key in ipairs(names) do
    local left = leftOf(key)
    if left >= ms then
      redis.call('PEXPIREAT', key, string.format('%.0f', endsNow + left - ms))
    elseif left >= 0 then
      redis.call('DEL', key)
    end
  end
end

redis.call('DEL', unpack(names))
local lines = {}
for number, step in ipairs(sequence.steps) do
  local line = ''
  if step.receivers then
    receivers = step.receivers
  elseif step.advanceMs then
    advance(step.advanceMs)
  elseif step.foreign then
    serverOf({}).pcall(unpack(step.foreign))
  else
    line = run(step)
  end
  lines[number] = line .. '\n' .. dump()
end
redis.call('DEL', unpack(names))
return lines
