-- Notes the images of all recognitions of an owner, to be removed: now, and those of
-- the last day once more when no image of them can be stored any more.
--
-- Parameters:
--   user_id   owner
--   now_too   0: all that is there is removed by other means, so they are noted for later only
--   later_ms  time from now until then
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
