-- Question: how many recognitions of an owner came from each camera in a span?
--
-- Parameters:
--   user_id         owner
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
-- Result: camera_id, camera_name as the newest recognition tells it, recognitions; the busiest first.
-- Sort key: (user_id, ts); one scan of the span. FINAL: a row written twice counts once.
SELECT
    camera_id,
    argMax(camera_name, (ts, id)) AS newest_name,
    count() AS recognitions
FROM recognitions FINAL
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
GROUP BY camera_id
ORDER BY recognitions DESC, camera_id
SETTINGS do_not_merge_across_partitions_select_final = 1
