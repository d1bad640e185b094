-- Question: which recognition of an account has this ID?
--
-- Parameters:
--   user_id  account
--   id       recognition
--   from_ms  Unix ms, UTC: the earliest possible capture time for this ID
--   to_ms    and the latest (common.records.ids.may_be_captured)
-- Result: one row or none: columns as in recognitions_page.sql.
-- Sort key: (user_id, ts): the granules of a few minutes.
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
FROM recognitions FINAL
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts <= fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
  AND id = {id:UUID}
LIMIT 1
SETTINGS do_not_merge_across_partitions_select_final = 1, max_threads = 1
