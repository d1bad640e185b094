-- Question: which triggers does an alert have, newest first?
--
-- Parameters:
--   user_id, alert_id     account and alert
--   since_ms              start time (Unix ms, UTC), see newest_triggers_span
--   before_ms, before_id  only triggers after this one, in the order of the list
--   limit                 maximum number of rows
-- Result: id, recognition_id, camera_id, camera_name, plate ('' if it was erased or has expired), confidence,
-- captured_ms, decided_ms (Unix ms, UTC), is_late, phase.
-- Sort key: (user_id, alert_id, ts): the granules of that range. FINAL: a withdrawn trigger is omitted, a
-- corrected one has the corrected plate.
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
