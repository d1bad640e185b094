-- Question: how many triggers does each of an account's alerts have, and when was the last one?
--
-- Parameters: user_id (account).
-- Result: alert_id, triggers, last_ms (Unix ms, UTC: capture time of the latest), for alerts with any. A pass with
-- an early and a final trigger counts once, a withdrawn trigger does not count.
-- Sort key: (user_id); one scan of the account's rows, columns of the key and the phase. FINAL: a row written twice
-- counts once, as last written.
SELECT
    alert_id,
    count() AS triggers,
    toUnixTimestamp64Milli(max(ts)) AS last_ms
FROM alert_triggers FINAL
WHERE user_id = {user_id:UUID}
  AND phase != 'withdrawn'
GROUP BY alert_id
SETTINGS do_not_merge_across_partitions_select_final = 1
