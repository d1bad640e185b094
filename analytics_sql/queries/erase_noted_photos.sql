-- Removes erased photos from the rows of an account's image calls in a time range.
--
-- Parameters:
--   user_id         account
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
-- Conditions as in rows_with_noted_photos.sql. A replicated table would reject that query as a subquery,
-- because it is not deterministic.
ALTER TABLE recognitions UPDATE photo_key = ''
WHERE user_id = {user_id:UUID}
  AND source = 'api'
  AND photo_key != ''
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
  AND if(photo_key = '=', toString(id), splitByChar('/', photo_key)[-2]) IN (
      SELECT if(photo_key = '=', toString(id), splitByChar('/', photo_key)[-2])
      FROM erased_images
      WHERE user_id = {user_id:UUID}
        AND photo_key != ''
  )
SETTINGS mutations_sync = 2, allow_nondeterministic_mutations = 1
