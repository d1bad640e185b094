-- Question: which recognitions of an account are in a time range, oldest first, after a given row?
--
-- Parameters:
--   user_id         account
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
--   after_ms, after_id  the last row of the previous page (Unix ms, UTC, and its ID); both or neither
--   limit           rows
-- Result: id, camera_id, camera_name, plate (normalised), confidence (0 to 1), captured_ms.
-- Sort key: (user_id, ts, id), read forwards. FINAL: a row written twice is returned once.
SELECT
    id,
    camera_id,
    camera_name,
    plate,
    confidence,
    toUnixTimestamp64Milli(ts) AS captured_ms
FROM recognitions FINAL
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
  AND ({after_ms:Nullable(Int64)} IS NULL
       OR (ts >= fromUnixTimestamp64Milli({after_ms:Nullable(Int64)}, 'UTC')
           AND (ts > fromUnixTimestamp64Milli({after_ms:Nullable(Int64)}, 'UTC')
                OR id > {after_id:Nullable(UUID)})))
ORDER BY ts, id
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1
