-- Question: which of these photos of image calls are noted to be removed, or removed by now?
--
-- Parameters:
--   user_ids  owners
--   photos    ids, as text, of the recognitions that the photos' keys are derived from
-- Result: photo. '=' stands for the key that is derived from the noted recognition itself.
-- Sort key: none; the table holds what was erased in thirty days. Without FINAL: whether a photo is
-- removed already makes no difference.
SELECT DISTINCT if(photo_key = '=', toString(id), splitByChar('/', photo_key)[-2]) AS photo
FROM erased_images
WHERE user_id IN {user_ids:Array(UUID)}
  AND photo_key != ''
  AND photo IN {photos:Array(String)}
