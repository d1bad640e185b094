-- Notes the images of an owner's plate of a span, to be removed: now, and those of
-- the last day once more when no image of them can be stored any more.
--
-- Parameters:
--   user_id             owner
--   plate               normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
--   later_ms            time from now until then
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
