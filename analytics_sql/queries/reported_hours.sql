-- Question: how many vehicles did each camera of all accounts report in these hours?
--
-- Parameters:
--   hours  start times of hours, Unix ms, UTC
-- Result: camera_id, hour_ms (Unix ms), reported; hours without rows are omitted.
-- Sort key: not used: the times of all rows are read, for a metric that is updated once an hour. If a minute was
-- written twice, the more complete row counts; few are left by then, so they are grouped instead of using FINAL.
SELECT camera_id, hour_ms, sum(reported) AS reported
FROM
(
    SELECT
        c.camera_id AS camera_id,
        toInt64(toUnixTimestamp(toStartOfHour(c.minute))) * 1000 AS hour_ms,
        argMax(c.reported, c.records) AS reported
    FROM camera_counts AS c
    WHERE has({hours:Array(Int64)}, toInt64(toUnixTimestamp(toStartOfHour(c.minute))) * 1000)
    GROUP BY c.user_id, c.camera_id, c.minute
)
GROUP BY camera_id, hour_ms
