-- Notes the images of all recognitions of an owner, to be removed.
--
-- Parameters: user_id (owner).
INSERT INTO erased_images (noted_at, user_id, id, photo_key, crop_key)
SELECT now64(3, 'UTC'), user_id, id, photo_key, crop_key
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND (photo_key != '' OR crop_key != '')
