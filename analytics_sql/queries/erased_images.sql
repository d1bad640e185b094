-- Question: which images of erased recognitions are to be removed by now, the first noted first?
--
-- Parameters:
--   user_id  whose; all where it is not asked for
--   after_ms, after_user, after_id  noted_ms, user_id and id of the row behind which to begin; from
--            the first on where they are not given
--   limit    rows
-- Result: noted_ms (Unix ms, UTC), user_id, id (of the recognition), photo_key, crop_key ('=': the
-- derived key, '': none).
-- Sort key: (noted_at, user_id, id). FINAL: what was removed is the same row again.
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
