-- Question: which of an owner's alerts fired for this recognition?
--
-- Parameters:
--   user_id         owner
--   recognition_id  recognition
--   captured_ms     Unix ms, UTC, when it was captured
-- Result: alert_id, id, triggered_ms, decided_ms (Unix ms, UTC), is_late, phase.
-- Sort key: (user_id, alert_id, ts): of each alert the granules around that moment. One that fired
-- early has the time of the reading that it fired for: no track is longer than ten minutes.
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
