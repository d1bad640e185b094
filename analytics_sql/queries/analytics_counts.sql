-- Question: how many recognitions of an owner lie in each quarter of an hour of a span, and how many
-- came from each camera?
--
-- Parameters:
--   user_id         owner
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
-- Result: quarter (quarters of an hour since 1970, UTC), camera_id, newest_name (of the camera, as its
-- newest recognition tells it), recognitions. A row of a quarter has no camera_id (NULL), a row of a
-- camera no quarter; there is none for what is empty. The busiest first. Every time zone of today is
-- a whole number of quarters away from UTC: they add up to days and hours of any zone.
-- Sort key: (user_id, ts); one scan of the span, so that both counts have the same sum. FINAL: a row
-- written twice counts once. argMax by (ts, id) instead of ts alone took eight times as long.
SELECT
    intDiv(toUnixTimestamp64Milli(ts), 900000) AS quarter,
    camera_id,
    argMax(camera_name, ts) AS newest_name,
    count() AS recognitions
FROM recognitions FINAL
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
GROUP BY GROUPING SETS ((quarter), (camera_id))
ORDER BY recognitions DESC, camera_id, quarter
SETTINGS do_not_merge_across_partitions_select_final = 1, group_by_use_nulls = 1
