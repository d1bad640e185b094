-- Records that a plate's rows in a time range are about to be erased. Their quarters are not counted by rollups until
-- that is done, which takes at most two hours.
--
-- Parameters:
--   user_id             account
--   plate               normalised plate
--   plate_hash          SHA-256, lower-case hexadecimal, of account, space and normalised plate
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
