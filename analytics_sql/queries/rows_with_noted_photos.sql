-- Question: how many rows of an owner's image calls of a span bear a photo that is noted to be removed?
--
-- Parameters:
--   user_id         owner
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
-- Result: rows; one row.
-- Sort key: (user_id, ts). Without FINAL: a copy that bears the key is to lose it as well.
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
