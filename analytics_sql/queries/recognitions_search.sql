-- Question: as recognitions_page.sql, for conditions that few rows fulfil.
--
-- Parameters and result: as recognitions_page.sql.
-- Sort key: the inner query finds the page's keys by the narrow columns alone, helped by the
-- trigram and camera indexes, unordered and without FINAL (copies of a row are equal, LIMIT BY
-- drops them); the outer one reads those few rows by (user_id, ts).
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
    crop_key
FROM recognitions FINAL
WHERE user_id = {user_id:UUID}
  AND (ts, id) IN (
      SELECT ts, id
      FROM recognitions
      WHERE user_id = {user_id:UUID}
        AND ({from_ms:Nullable(Int64)} IS NULL
             OR ts >= fromUnixTimestamp64Milli({from_ms:Nullable(Int64)}, 'UTC'))
        AND ({to_ms:Nullable(Int64)} IS NULL
             OR ts < fromUnixTimestamp64Milli({to_ms:Nullable(Int64)}, 'UTC'))
        AND ({after_ms:Nullable(Int64)} IS NULL
             OR (ts <= fromUnixTimestamp64Milli({after_ms:Nullable(Int64)}, 'UTC')
                 AND (ts < fromUnixTimestamp64Milli({after_ms:Nullable(Int64)}, 'UTC')
                      OR id < {after_id:Nullable(UUID)})))
        AND ({camera_id:Nullable(UUID)} IS NULL OR camera_id = {camera_id:Nullable(UUID)})
        AND ({plate_pattern:String} = '' OR plate LIKE {plate_pattern:String})
        AND confidence >= {min_confidence:Float64}
      ORDER BY ts DESC, id DESC
      LIMIT 1 BY ts, id
      LIMIT {limit:UInt32}
  )
ORDER BY ts DESC, id DESC
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1, optimize_read_in_order = 0
