-- Question: how often has each of an owner's alerts fired, and when the last time?
--
-- Parameters: user_id (owner).
-- Result: alert_id, triggers, last_ms (Unix ms, UTC: capture time of the latest), for those that have
-- fired. A pass that set an alert off early and in the end counts once, a firing that was withdrawn
-- does not.
-- Sort key: (user_id); one scan of the owner's rows, columns of the key and the phase. FINAL: a row
-- written twice counts once, as it was written last.
SELECT
    alert_id,
    count() AS triggers,
    toUnixTimestamp64Milli(max(ts)) AS last_ms
FROM alert_triggers FINAL
WHERE user_id = {user_id:UUID}
  AND phase != 'withdrawn'
GROUP BY alert_id
SETTINGS do_not_merge_across_partitions_select_final = 1
