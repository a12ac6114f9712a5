--[[
  Marks the counter that all locks of a prefix share, while instances with one counter per lock use the same prefix. Every
  fencing token of the shared counter is then taken from the clock; see `lib/fencing.lua`.

  @key  fence: string   last fencing token that was issued, or 0; with the mark `~<end in ms>` behind it
  @arg  forMs: string   time for which the mark counts
  @returns 1
]]
local time = redis.call('TIME')
local untilMs = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local text = redis.call('GET', KEYS[1])
local number = string.match(text or '0', '^%d+')
-- An invalid counter stays invalid.
if not number then return 1 end
local marked = number .. string.format('~%.0f', untilMs)
if text then
  redis.call('SET', KEYS[1], marked, 'KEEPTTL')
else
  redis.call('SET', KEYS[1], marked, 'PX', ARGV[1])
end
return 1
