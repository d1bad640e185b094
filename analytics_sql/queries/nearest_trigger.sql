-- Question: which firing of an alert lies nearest to a moment, within less than a cooldown?
--
-- Parameters:
--   user_id, alert_id  owner and alert
--   captured_ms        the moment (Unix ms, UTC)
--   cooldown_ms        how far a firing may be away, exclusive
--   plate              normalised plate that it fired for; '' for any
--   camera_id          camera (NULL: any)
-- Result: recognition_id, captured_ms (Unix ms, UTC); one row or none.
-- Sort key: (user_id, alert_id, ts). FINAL: a firing that was withdrawn holds nothing back.
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
