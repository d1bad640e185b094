-- Question: which of these photos of image calls are recorded for removal, or already removed?
--
-- Parameters:
--   user_ids  accounts
--   photos    IDs, as text, of the recognitions from which the photos' keys are derived
-- Result: photo. '=' represents the key that is derived from the recorded recognition itself.
-- Sort key: none; the table contains the erasures of thirty days. Without FINAL, because it does not matter
-- whether a photo is already removed.
SELECT DISTINCT if(photo_key = '=', toString(id), splitByChar('/', photo_key)[-2]) AS photo
FROM erased_images
WHERE user_id IN {user_ids:Array(UUID)}
  AND photo_key != ''
  AND photo IN {photos:Array(String)}
