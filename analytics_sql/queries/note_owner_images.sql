-- Records the images of all recognitions of an account for removal: now, and those of the last day again
-- when no image of them can be stored any more.
--
-- Parameters:
--   user_id   account
--   now_too   0: existing images are removed by other means, so only record the later removal
--   later_ms  time from now until the later removal
INSERT INTO erased_images (noted_at, user_id, id, photo_key, crop_key)
SELECT
    now64(3, 'UTC') + toIntervalMillisecond(
        arrayJoin(arrayConcat(
            if({now_too:UInt8} = 1, [0], []),
            if(ts > now64(3, 'UTC') - INTERVAL 1 DAY, [{later_ms:Int64}], [])))),
    user_id,
    id,
    photo_key,
    crop_key
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND (photo_key != '' OR crop_key != '')
