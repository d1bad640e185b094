-- Counts a request in the windows of a caller, up to the first full window, in one call.
--
-- KEYS: the block of the caller, then a window for each limit.
-- ARGV: now (Unix s), number of the reported limit (from 1), then amount and seconds of each limit.
-- Returns: remaining ms of the block (0: none), index of the limit that rejects (-1: none), and the
-- number of requests and the oldest time in its window (-1: in the reported window).
--
-- A window is a list of timestamps, newest first, in the format of the library "limits".

local now, reported = tonumber(ARGV[1]), tonumber(ARGV[2])

-- Returns the number of timestamps from `since` onwards in a window, and the oldest of them.
local function used(key, since)
    local low, high = 0, redis.call('LLEN', key)
    while low < high do
        local middle = math.floor((low + high) / 2)
        if tonumber(redis.call('LINDEX', key, middle)) >= since then
            low = middle + 1
        else
            high = middle
        end
    end
    return low, low > 0 and redis.call('LINDEX', key, low - 1) or ARGV[1]
end

local blocked = redis.call('PTTL', KEYS[1])
if blocked > 0 then
    return {blocked, -1, 0, ARGV[1]}
end

local refused, count, oldest = -1, 0, ARGV[1]
for number = 1, #KEYS - 1 do
    local key = KEYS[number + 1]
    local amount, seconds = tonumber(ARGV[2 * number + 1]), tonumber(ARGV[2 * number + 2])
    local first = redis.call('LINDEX', key, amount - 1)
    if first and tonumber(first) >= now - seconds then
        refused = number - 1
    else
        redis.call('LPUSH', key, ARGV[1])
        redis.call('LTRIM', key, 0, amount - 1)
        redis.call('EXPIRE', key, seconds)
    end
    if refused >= 0 or number == reported then
        count, oldest = used(key, now - seconds)
    end
    if refused >= 0 then
        break
    end
end
return {0, refused, count, oldest}
