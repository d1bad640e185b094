-- Question: how far back do the newest rows of an alert's firings reach, from a moment on?
--
-- Parameters:
--   user_id, alert_id  owner and alert
--   before_ms          that moment (Unix ms, UTC), inclusive
--   rows               at most so many rows, of which several may be of one firing
-- Result: rows, since_ms (Unix ms, UTC: of the oldest of them).
-- Sort key: (user_id, alert_id, ts), read backwards; without FINAL it ends at so many rows.
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
