/** The keys that no rule of a lock reads: the records of processes and of tickets. They end later than a history. */
export const isRecord = (key: string): boolean => /^[pt]1:/.test(key);

/**
 * A function of Lua: the keys that exist, each with its value or its members and scores, and the millisecond of its end,
 * -1 without one. PEXPIRETIME needs Redis 7.
 */
export const DUMP_KEYS = `
local function dumpKeys(names)
  local found, seen = {}, {}
  for _, key in ipairs(names) do
    local kind = redis.call('TYPE', key).ok
    if kind ~= 'none' and not seen[key] and not string.find(key, '^[pt]1:') then
      seen[key] = true
      local content = kind
      if kind == 'string' then content = redis.call('GET', key) end
      if kind == 'zset' then content = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
      found[#found + 1] = { key, content, string.format('%.0f', redis.call('PEXPIRETIME', key)) }
    end
  end
  return found
end
`;

/** A key as `dumpKeys` returns it. */
export type DumpedKey = readonly [key: string, content: string | readonly string[], endsAt: string];
