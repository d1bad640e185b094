-- Question: which recognitions of an owner lie in a span of time, newest first, and match?
--
-- Parameters (NULL: no such condition):
--   user_id         owner
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
--   after_ms, after_id  the last row of the page before (Unix ms, UTC, and its id); both or neither
--   camera_id       camera
--   plate_pattern   LIKE pattern over the normalised plate; '' for no such condition
--   min_confidence  0 to 1, inclusive
--   limit           rows
-- Result: what a list shows of a recognition; times in Unix ms, UTC.
-- Sort key: (user_id, ts, id), read backwards until the page is full: in small blocks and not
-- ahead, so that no more than a page is read (15 ms of CPU instead of 37 over ten parts). That is
-- quick where matches are frequent; where they are rare it reads all rows of the span under FINAL,
-- and recognitions_search.sql is the quicker one.
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
LIMIT {limit:UInt32}
SETTINGS
    do_not_merge_across_partitions_select_final = 1,
    max_block_size = 1024,
    read_in_order_use_buffering = 0,
    max_threads = 1
