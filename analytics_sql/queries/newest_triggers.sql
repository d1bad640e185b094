-- Question: what did an alert fire for, newest first?
--
-- Parameters:
--   user_id, alert_id     owner and alert
--   since_ms              not before this moment (Unix ms, UTC), see newest_triggers_span
--   before_ms, before_id  only those behind this firing, in the list's order
--   limit                 at most so many
-- Result: id, recognition_id, camera_id, camera_name, plate ('' where it was erased or is past its
-- retention), confidence, captured_ms, decided_ms (Unix ms, UTC), is_late, phase.
-- Sort key: (user_id, alert_id, ts): the granules of that span. FINAL: one that was withdrawn is
-- none, one that was corrected has the plate that it was corrected to.
SELECT
    id,
    recognition_id,
    camera_id,
    camera_name,
    plate,
    confidence,
    toUnixTimestamp64Milli(ts) AS captured_ms,
    toUnixTimestamp64Milli(decided_at) AS decided_ms,
    is_late,
    phase
FROM alert_triggers FINAL
WHERE user_id = {user_id:UUID}
  AND alert_id = {alert_id:UUID}
  AND phase != 'withdrawn'
  AND ts >= fromUnixTimestamp64Milli({since_ms:Int64}, 'UTC')
  AND (ts, id) < (fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC'), {before_id:UUID})
ORDER BY ts DESC, id DESC
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1
