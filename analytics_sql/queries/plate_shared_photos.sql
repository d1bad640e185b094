-- Question: how many recognitions of other plates belong to an image call that also found an account's plate, in
-- a time range? They have its photo, which shows that plate.
--
-- Parameters:
--   user_id             account
--   plate_hash          SHA-256, lower-case hexadecimal, of account, space and normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
-- Result: recognitions; one row.
-- Sort key: (user_id, ts); all recognitions of a call have the same time. A photo's key is derived from the first
-- of them, for which it is stored as '='.
SELECT count() AS recognitions
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND source = 'api'
  AND photo_key != ''
  AND lower(hex(SHA256(concat(toString(user_id), ' ', plate)))) != {plate_hash:String}
  AND (ts, if(photo_key = '=', toString(id), splitByChar('/', photo_key)[-2])) IN (
      SELECT ts, if(photo_key = '=', toString(id), splitByChar('/', photo_key)[-2])
      FROM recognitions
      WHERE user_id = {user_id:UUID}
        AND source = 'api'
        AND photo_key != ''
        AND lower(hex(SHA256(concat(toString(user_id), ' ', plate)))) = {plate_hash:String}
        AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
  )
