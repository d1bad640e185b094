-- Notes the images of an owner's plate of a span, to be removed.
--
-- Parameters:
--   user_id             owner
--   plate               normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
INSERT INTO erased_images (noted_at, user_id, id, photo_key, crop_key)
SELECT now64(3, 'UTC'), user_id, id, photo_key, crop_key
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND plate = {plate:String}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
  AND (photo_key != '' OR crop_key != '')
