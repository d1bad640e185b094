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
-- Result: what a list shows of a recognition; times in Unix ms, UTC. A row that was written twice
-- may come twice, its copies next to each other: FINAL would read all columns of every row that is
-- asked about (a text of three characters in 1 M rows: 76 ms with it, 42 without).
-- Sort key: (user_id, ts, id), read backwards until the page is full; conditions on narrow columns
-- first, the rest for the rows of the page alone, and not ahead of it: over 15 parts a frequent text
-- takes 30 instead of 35 ms so. With a camera the caller forbids reading in order
-- (optimize_read_in_order = 0), which lets the projection by_camera answer; with a wildcard too, as
-- few rows fit one.
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
LIMIT {limit:UInt32}
SETTINGS read_in_order_use_buffering = 0
