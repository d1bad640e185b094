-- Removes the photo from recognitions of other plates that share it with an account's plate, in a time range.
--
-- Parameters:
--   user_id             account
--   plate_hash          SHA-256, lower-case hexadecimal, of account, space and normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
-- By hash, because the server stores the text of the statement. Conditions as in plate_shared_photos.sql. A
-- replicated table would reject that query as a subquery, because it is not deterministic.
ALTER TABLE recognitions UPDATE photo_key = ''
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
SETTINGS mutations_sync = 2, allow_nondeterministic_mutations = 1
