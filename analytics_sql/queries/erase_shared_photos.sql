-- Takes the photo from recognitions of other plates that share it with an owner's plate, in a span.
--
-- Parameters:
--   user_id             owner
--   plate_hash          SHA-256, lower hexadecimal, of owner, a blank and the normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
-- By the hash, as the server keeps the text of such a statement. Conditions as in
-- plate_shared_photos.sql. A replicated table would refuse the query within it as not deterministic.
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
