-- Question: how many recognitions of other plates are of an image call that also found an owner's plate,
-- in a span? They have its photo, on which that plate is to be seen.
--
-- Parameters:
--   user_id             owner
--   plate_hash          SHA-256, lower hexadecimal, of owner, a blank and the normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
-- Result: recognitions; one row.
-- Sort key: (user_id, ts); all recognitions of a call have one time. A photo's key is derived from the
-- first of them, for which '=' stands.
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
