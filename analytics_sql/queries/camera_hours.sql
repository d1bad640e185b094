-- Question: how many of a camera's frames and vehicles had which outcome, per hour?
--
-- Parameters:
--   user_id, camera_id  account and camera
--   from_ms, to_ms      Unix ms, UTC; from is inclusive, to exclusive
-- Result: hour_ms (Unix ms), then the sums by name; hours without rows are omitted.
-- Sort key: (user_id, camera_id, minute); one scan of the range. FINAL: if a minute was written twice, the
-- more complete row counts.
SELECT
    toInt64(toUnixTimestamp(toStartOfHour(minute))) * 1000 AS hour_ms,
    sum(c.decoded) AS decoded,
    sum(c.still) AS still,
    sum(c.failed) AS failed,
    sum(c.slow) AS slow,
    sum(c.unsent) AS unsent,
    sum(c.lost) AS lost,
    sum(c.stale) AS stale,
    sum(c.surplus) AS surplus,
    sum(c.refused) AS refused,
    sum(c.read) AS read,
    sum(c.found) AS found,
    sum(c.small) AS small,
    sum(c.unread) AS unread,
    sum(c.outside) AS outside,
    sum(c.readings) AS readings,
    sum(c.reported) AS reported,
    sum(c.repeated) AS repeated,
    sum(c.unsure) AS unsure,
    sum(c.fragments) AS fragments
FROM camera_counts AS c FINAL
WHERE c.user_id = {user_id:UUID}
  AND c.camera_id = {camera_id:UUID}
  AND c.minute >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND c.minute < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
GROUP BY hour_ms
ORDER BY hour_ms
SETTINGS do_not_merge_across_partitions_select_final = 1
