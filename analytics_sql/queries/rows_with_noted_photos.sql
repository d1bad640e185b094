-- Question: how many rows of an account's image calls in a time range have a photo that is recorded for removal?
--
-- Parameters:
--   user_id         account
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
-- Result: rows; one row.
-- Sort key: (user_id, ts). Without FINAL, because duplicates must lose the key, too.
SELECT count() AS rows
FROM recognitions
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
