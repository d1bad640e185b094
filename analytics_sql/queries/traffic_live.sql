-- Question: what are the counts of these quarters of an hour of an account, by quarter, camera and outcome, row by row?
--
-- Parameters:
--   user_id         account
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
--   quarters        quarters since 1970
-- Result: as traffic_stored.sql.
-- Sort key: (user_id, ts); one scan of the quarters, so that both counts have the same sum. FINAL: a row written twice
-- counts once. argMax by (ts, id) instead of only ts took eight times as long.
SELECT
    if(grouping(by_camera) = 0, NULL, CAST(by_quarter AS Nullable(Int64))) AS quarter,
    [count()] AS counts,
    if(grouping(by_camera) = 0, CAST(by_camera AS Nullable(UUID)), NULL) AS camera_id,
    toUnixTimestamp64Milli(max(ts)) AS newest_ms,
    toString(argMax(camera_name, ts)) AS newest_name,
    count() AS number,
    toUInt64(0) AS found,
    toUInt64(0) AS not_found
FROM
(
    SELECT
        intDiv(toUnixTimestamp64Milli(ts), 900000) AS by_quarter,
        camera_id AS by_camera,
        camera_name,
        ts
    FROM recognitions FINAL
    WHERE user_id = {user_id:UUID}
      AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
      AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
      AND intDiv(toUnixTimestamp64Milli(ts), 900000) IN {quarters:Array(Int64)}
)
GROUP BY GROUPING SETS ((by_quarter), (by_camera))
UNION ALL
SELECT NULL, [], NULL, 0, '', 0, countIf(accepted), countIf(NOT accepted)
FROM pass_outcomes FINAL
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
  AND intDiv(toUnixTimestamp64Milli(ts), 900000) IN {quarters:Array(Int64)}
SETTINGS do_not_merge_across_partitions_select_final = 1
