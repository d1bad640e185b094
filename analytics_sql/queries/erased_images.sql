-- Question: which images of erased recognitions are due for removal, oldest note first?
--
-- Parameters:
--   user_id  account; optional
--   after_ms, after_user, after_id  noted_ms, user_id and id of the row after which to start; optional
--   limit    rows
-- Result: noted_ms (Unix ms, UTC), user_id, id (of the recognition), photo_key, crop_key ('=': the
-- derived key, '': none).
-- Sort key: (noted_at, user_id, id). FINAL: after removal, the same row is written again.
SELECT
    toUnixTimestamp64Milli(noted_at) AS noted_ms,
    user_id,
    id,
    photo_key,
    crop_key
FROM erased_images FINAL
WHERE removed = 0
  AND noted_at <= now64(3, 'UTC')
  AND user_id = {user_id:UUID} -- if user_id
  AND (noted_at, user_id, id) > (fromUnixTimestamp64Milli({after_ms:Int64}, 'UTC'), {after_user:UUID}, {after_id:UUID}) -- if after_ms
ORDER BY noted_at, user_id, id
LIMIT {limit:UInt32}
