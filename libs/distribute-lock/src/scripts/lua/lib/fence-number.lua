-- What a counter of fencing tokens holds; nothing where tokens behind it would repeat or be no safe integers.
local function fenceNumber(text)
  local number = tonumber(text or 0)
  return number and number >= 0 and number < 9007199250000000 and number % 1 == 0 and number or nil
end

local function refuseFence(key)
  error({ err = 'BADFENCE The fencing counter is not a safe whole number. Delete the key "' .. key .. '".' })
end
