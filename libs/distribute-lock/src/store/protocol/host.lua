-- What Lua and TypeScript do in different ways: patterns and errors. `host.ts` has the same functions by the same names,
-- and says what each returns.

function toNumber(text)
  return tonumber(text)
end

function decimalOf(text)
  return tonumber(string.match(text, '^[%d.eE+-]+$') or '')
end

function digits(number)
  return string.format('%.0f', number)
end

function exactly(number)
  return string.format('%.17g', number)
end

function wordsOf(text)
  return string.match(text, '^(%l) (%S+) ?(%S*) ?(%S*) ?(%S*) ?(%S*)$')
end

function allWords(text)
  local words = {}
  for word in string.gmatch(text, '%S+') do words[#words + 1] = word end
  return words
end

function processIn(token)
  local process = string.match(token, '^([%w_-]+):%w+$') or string.match(token, '^([%w_-]+):%w+:%w+$')
  return process and #process == 22 and process or nil
end

function processPart(token)
  return string.sub(token, 1, 22)
end

function processPrefix(token)
  return string.sub(token, 1, 23)
end

function channelPart(process)
  return string.sub(process, 1, 11)
end

function isReadToken(token)
  return string.find(token, ':%w+:r$') ~= nil
end

function weightIn(token)
  return tonumber(string.match(token, ':[%l%d]+P%d+:(%d+)$') or 0)
end

function permitsIn(token)
  return tonumber(string.match(token, ':[%l%d]+P(%d+):%d+$') or 0)
end

function permitsOfValue(value)
  local permits = string.match(value, '^semaphore:(%d+)$')
  return permits and tonumber(permits)
end

function lockPrefix(lock, fence)
  return string.sub(lock, 1, string.match(fence, '%d+$'))
end

function markParts(counter)
  return string.match(counter, '^(%d+)~(%d+)$')
end

function memberParts(member)
  return string.match(member, '^([#=+])([%w_-]+)$')
end

function emptyTable()
  return {}
end

function safely(run, ...)
  local ok, reply = pcall(run, ...)
  if ok then return reply end
  return { REFUSED, type(reply) == 'table' and reply.err or tostring(reply), 0 }
end

function firstLetter(command)
  return string.sub(command, 1, 1)
end

function tokenOfRelease(command)
  return string.sub(command, 3)
end

function sixDigits(microseconds)
  return string.format('%06d', microseconds)
end

function leadingDigits(text)
  return string.match(text, '^%d+')
end

function joined(texts)
  return table.concat(texts, ' ')
end
