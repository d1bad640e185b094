-- Question: what time range do the newest rows of an alert's triggers cover, back from a given time?
--
-- Parameters:
--   user_id, alert_id  account and alert
--   before_ms          the given time (Unix ms, UTC), inclusive
--   rows               maximum number of rows, several of which can belong to one trigger
-- Result: rows, since_ms (Unix ms, UTC, of the oldest row).
-- Sort key: (user_id, alert_id, ts), read backwards; without FINAL, it stops after that many rows.
SELECT
    count() AS rows,
    toUnixTimestamp64Milli(min(ts)) AS since_ms
FROM
(
    SELECT ts
    FROM alert_triggers
    WHERE user_id = {user_id:UUID}
      AND alert_id = {alert_id:UUID}
      AND ts <= fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
    ORDER BY ts DESC
    LIMIT {rows:UInt32}
)
