-- Question: which recognitions of an account have these IDs and times?
--
-- Parameters:
--   user_id  account
--   ids      IDs
--   times    capture times (Unix ms, UTC)
-- Result: as recognitions_page.sql, unordered; a row written twice may be returned twice.
-- Sort key: (user_id, ts): the granules of these times.
SELECT
    id,
    user_id,
    camera_id,
    camera_name,
    plate,
    confidence,
    toUnixTimestamp64Milli(ts) AS captured_ms,
    box_x,
    box_y,
    box_width,
    box_height,
    photo_key,
    crop_key,
    character_confidences,
    alternatives,
    toUnixTimestamp64Milli(first_seen) AS first_seen_ms,
    toUnixTimestamp64Milli(last_seen) AS last_seen_ms,
    readings_count,
    region,
    region_confidence,
    plate_type,
    source,
    direction
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND ts IN (SELECT fromUnixTimestamp64Milli(arrayJoin({times:Array(Int64)}), 'UTC'))
  AND id IN {ids:Array(UUID)}
