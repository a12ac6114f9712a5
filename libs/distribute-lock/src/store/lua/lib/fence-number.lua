-- The value of a counter of fencing tokens; nil if later tokens would repeat or would not be safe integers.
local function fenceNumber(text)
  local number = tonumber(text or 0)
  return number and number >= 0 and number < 9007199250000000 and number % 1 == 0 and number or nil
end

local function refuseFence(key)
  error({ err = 'BADFENCE The fencing counter is not a safe whole number. Delete the key "' .. key .. '".' })
end
