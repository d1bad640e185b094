-- Question: which of an account's alerts did this recognition trigger?
--
-- Parameters:
--   user_id         account
--   recognition_id  recognition
--   captured_ms     Unix ms, UTC, capture time
-- Result: alert_id, id, triggered_ms, decided_ms (Unix ms, UTC), is_late, phase.
-- Sort key: (user_id, alert_id, ts): the granules of each alert around that time. An early trigger has the time of
-- the reading that triggered it; no track is longer than ten minutes.
SELECT
    alert_id,
    id,
    toUnixTimestamp64Milli(ts) AS triggered_ms,
    toUnixTimestamp64Milli(decided_at) AS decided_ms,
    is_late,
    phase
FROM alert_triggers FINAL
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({captured_ms:Int64} - 600000, 'UTC')
  AND ts <= fromUnixTimestamp64Milli({captured_ms:Int64} + 600000, 'UTC')
  AND recognition_id = {recognition_id:UUID}
SETTINGS do_not_merge_across_partitions_select_final = 1
