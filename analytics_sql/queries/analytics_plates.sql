-- Question: which plates did an account's cameras read most often in a time range?
--
-- Parameters:
--   user_id         account
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
--   limit           rows
-- Result: plate, recognitions, last_ms (Unix ms, UTC, of the newest recognition); the most frequent first,
-- ties by latest.
-- Sort key: (user_id, ts); one scan of the range. FINAL: a row written twice counts once.
SELECT
    plate,
    count() AS recognitions,
    toUnixTimestamp64Milli(max(ts)) AS last_ms
FROM recognitions FINAL
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
GROUP BY plate
ORDER BY recognitions DESC, last_ms DESC, plate
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1
