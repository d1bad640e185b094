-- Question: which trigger of an alert is nearest to a time, within the cooldown?
--
-- Parameters:
--   user_id, alert_id  account and alert
--   captured_ms        the time (Unix ms, UTC)
--   cooldown_ms        maximum distance of the trigger, exclusive
--   plate              normalised plate of the trigger; '' for any
--   camera_id          camera (NULL: any)
-- Result: recognition_id, captured_ms (Unix ms, UTC); one row or none.
-- Sort key: (user_id, alert_id, ts). FINAL: a withdrawn trigger suppresses nothing.
SELECT
    recognition_id,
    toUnixTimestamp64Milli(ts) AS captured_ms
FROM alert_triggers FINAL
WHERE user_id = {user_id:UUID}
  AND alert_id = {alert_id:UUID}
  AND phase != 'withdrawn'
  AND ts > fromUnixTimestamp64Milli({captured_ms:Int64} - {cooldown_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({captured_ms:Int64} + {cooldown_ms:Int64}, 'UTC')
  AND ({plate:String} = '' OR plate = {plate:String})
  AND ({camera_id:Nullable(UUID)} IS NULL OR camera_id = {camera_id:Nullable(UUID)})
ORDER BY abs(toUnixTimestamp64Milli(ts) - {captured_ms:Int64}), ts
LIMIT 1
SETTINGS do_not_merge_across_partitions_select_final = 1
