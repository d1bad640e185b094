-- Records the images of an account's plate in a time range for removal: now, and those of the last day again
-- when no image of them can be stored any more.
--
-- Parameters:
--   user_id             account
--   plate               normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
--   later_ms            time from now until the later removal
INSERT INTO erased_images (noted_at, user_id, id, photo_key, crop_key)
SELECT
    now64(3, 'UTC') + toIntervalMillisecond(
        arrayJoin(if(ts > now64(3, 'UTC') - INTERVAL 1 DAY, [0, {later_ms:Int64}], [0]))),
    user_id,
    id,
    photo_key,
    crop_key
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND plate = {plate:String}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
  AND (photo_key != '' OR crop_key != '')
