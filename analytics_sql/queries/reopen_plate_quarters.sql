-- Notes that a plate's rows of a span are about to be erased: no rollup stands for their quarters until that is done,
-- which takes two hours at the most.
--
-- Parameters:
--   user_id             owner
--   plate               normalised plate
--   plate_hash          SHA-256, lower hexadecimal, of owner, a blank and the normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
INSERT INTO traffic_reopened (user_id, quarter, plate_hash, touched_at)
SELECT DISTINCT
    user_id,
    toUInt32(intDiv(toUnixTimestamp64Milli(ts), 900000)),
    {plate_hash:String},
    now64(3, 'UTC') + INTERVAL 2 HOUR
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND plate = {plate:String}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
