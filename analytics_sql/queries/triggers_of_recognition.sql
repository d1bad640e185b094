-- Question: which of an owner's alerts fired for this recognition?
--
-- Parameters:
--   user_id         owner
--   recognition_id  recognition
--   captured_ms     Unix ms, UTC, when it was captured
-- Result: alert_id, decided_ms (Unix ms, UTC), is_late.
-- Sort key: (user_id, alert_id, ts): of each alert the granule around that moment.
SELECT
    alert_id,
    toUnixTimestamp64Milli(decided_at) AS decided_ms,
    is_late
FROM alert_triggers FINAL
WHERE user_id = {user_id:UUID}
  AND ts = fromUnixTimestamp64Milli({captured_ms:Int64}, 'UTC')
  AND recognition_id = {recognition_id:UUID}
SETTINGS do_not_merge_across_partitions_select_final = 1
