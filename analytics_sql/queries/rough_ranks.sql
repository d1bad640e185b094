-- Question: which plates may an account's cameras have read most often in a time range?
--
-- Parameters:
--   user_id         account
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
--   limit           rows
-- Result: plate, recognitions (an upper bound, because duplicates of a row are included), the most frequent first.
-- Sort key: (user_id, ts); one scan of the range. Counts that exceed memory are spilled to disk.
SELECT plate, count() AS recognitions
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
GROUP BY plate
ORDER BY recognitions DESC
LIMIT {limit:UInt32}
SETTINGS max_bytes_before_external_group_by = 150000000, max_bytes_ratio_before_external_group_by = 0, max_threads = 1
